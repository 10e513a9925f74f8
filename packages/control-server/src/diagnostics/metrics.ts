import { InstanceStatus, type Instance } from '@holdfast/control-protocol';
import type { OpenMetricsContentType } from 'prom-client';
import type { JournalFigures } from '../journal/journal-counters.ts';
import type { RequestCounts } from './request-counts.ts';

/** What the metrics are made of. */
export interface MetricSources {
  readonly instances: readonly Instance[];
  /** What the journal of each instance has been through, by the instance's id. */
  readonly journals: ReadonlyMap<string, JournalFigures>;
  readonly requests: RequestCounts;
  /** RFC 3339. */
  readonly startedAt: string;
  /** The memory of the server's own process, in bytes. */
  readonly residentMemoryBytes: number;
}

/** The counts and levels of a server as OpenMetrics text. Labels hold ids and names of the protocol, nothing else. */
export async function renderMetrics(sources: MetricSources): Promise<string> {
  // Loaded when it is first asked for: a server that nobody watches starts without it.
  const { Counter, Gauge, Registry } = (await import('prom-client')).default;
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const registers = [registry];
  const perInstance = (name: string, help: string, level: (instance: Instance) => number): void => {
    const levels = new Gauge({ name, help, labelNames: ['instance_id'], registers });
    for (const instance of sources.instances) {
      levels.set({ instance_id: instance.instanceId }, level(instance));
    }
  };

  const level = (name: string, help: string, value: number): void => {
    new Gauge({ name, help, registers }).set(value);
  };
  level(
    'holdfast_start_time_seconds',
    'When the server started, in seconds since 1970.',
    Date.parse(sources.startedAt) / 1000,
  );
  level('holdfast_resident_memory_bytes', 'The memory of the server process.', sources.residentMemoryBytes);
  const byStatus = new Gauge({
    name: 'holdfast_instances',
    help: 'Instances by status.',
    labelNames: ['status'],
    registers,
  });
  for (const status of InstanceStatus.options) {
    byStatus.set({ status }, sources.instances.filter((instance) => instance.status === status).length);
  }
  perInstance('holdfast_instance_attached', 'Whether an event stream is established.', ({ attached }) =>
    Number(attached),
  );
  perInstance('holdfast_instance_turn_active', 'Whether a turn is active.', ({ activeTurnId }) =>
    Number(activeTurnId !== null),
  );
  perInstance(
    'holdfast_instance_retained_outcomes',
    'Outcomes that wait for an acknowledgement.',
    ({ retainedOutcomes }) => retainedOutcomes,
  );
  perInstance(
    'holdfast_journal_unacknowledged_events',
    'Events that wait for an acknowledgement.',
    ({ journal }) => journal.unacknowledged,
  );
  perInstance('holdfast_journal_paused', 'Whether a producer waits for room.', ({ journal }) =>
    Number(journal.paused),
  );
  const events = new Counter({
    name: 'holdfast_journal_events',
    help: 'Events that entered the journal.',
    labelNames: ['instance_id'],
    registers,
  });
  for (const { instanceId, journal } of sources.instances) {
    events.inc({ instance_id: instanceId }, journal.nextSeq - 1);
  }
  const perJournal = (name: string, help: string, ...labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames: ['instance_id', ...labelNames], registers });
  const pauses = perJournal('holdfast_journal_pauses', 'How often producers had to wait for room.');
  const pausedSeconds = perJournal('holdfast_journal_paused_seconds', 'How long they waited.');
  const dropped = perJournal(
    'holdfast_journal_dropped_events',
    'Events of the classes that may be lost, of which nobody was told.',
    'type',
  );
  for (const [instance_id, figures] of sources.journals) {
    pauses.inc({ instance_id }, figures.pauses);
    pausedSeconds.inc({ instance_id }, figures.pausedMs / 1000);
    for (const [type, count] of Object.entries(figures.dropped)) dropped.inc({ instance_id, type }, count);
  }
  const requests = new Counter({
    name: 'holdfast_http_requests',
    help: 'Answered requests by operation and status.',
    labelNames: ['operation', 'status'],
    registers,
  });
  for (const { operation, status, count } of sources.requests.list()) {
    requests.inc({ operation, status }, count);
  }
  return await registry.metrics();
}
