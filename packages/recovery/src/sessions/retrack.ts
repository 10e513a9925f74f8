import { ControlError, type Instance, type TurnReport } from '@holdfast/control-protocol';
import type { CallOptions } from '@holdfast/control-protocol/client';
import type { ExecutionRecord, OwnedControlServer } from '@holdfast/executor-contract';
import type { ScopedInstance } from '../correlation/correlate.ts';
import { unlessAborted } from '../deadline.ts';
import { applyOutcomes } from '../outcomes/apply-outcomes.ts';
import type { OutcomeWriter, SessionState } from '../outcomes/outcome-writer.ts';
import type { RowOutcome } from '../outcomes/row-outcome.ts';
import type { Clock } from '../ports/clock.ts';
import type { AgentProfiles } from '../ports/profiles.ts';
import type { StoredSessions } from '../ports/stored-sessions.ts';
import { boundedAsk } from '../reconstruction/bounded-ask.ts';
import { boundedRead, type BoundedRead, type ReadSettings } from '../reconstruction/bounded-read.ts';
import type { Execution } from '../reconstruction/execution.ts';
import { reconstruct } from '../reconstruction/reconstruct.ts';
import type { Slots } from './slots.ts';

/** A session that works again: same instance, same agent, same provider session (SURVIVAL-001.4). */
export interface RetrackedSession {
  readonly execution: Execution;
  readonly record: ExecutionRecord;
  readonly server: OwnedControlServer;
  readonly instance: Instance;
  /** What the server said about its turns. The retained outcomes are durably applied already. */
  readonly turn: TurnReport;
  readonly sessionState: SessionState;
}

/** What recovery asks and tells its host. */
export interface RecoveryPorts {
  readonly profiles: AgentProfiles;
  readonly sessions: StoredSessions;
  readonly outcomes: OutcomeWriter;
}

/** What rebuilding a session works with. */
export interface RetrackContext {
  readonly ports: RecoveryPorts;
  readonly settings: ReadSettings;
  readonly clock: Clock;
  /** For the reads of control servers. */
  readonly readSlots: Slots;
  /** Bounds all reads; what is rebuilt after it is not published. */
  readonly deadline: AbortSignal;
}

/** A session ready to be published, or the outcome of its row instead. */
export type Retracking = { readonly kind: 'ready'; readonly session: RetrackedSession } | NotRetracked;
type NotRetracked = Extract<RowOutcome, { kind: 'no_instance' | 'missing_input' | 'failed_read' }>;

/**
 * Rebuilds the execution of an instance and applies the outcomes that its server retained, in this order, so that the session is
 * published in the state they give (SURVIVAL-004.2). Rejects with the deadline's reason, and when an outcome could not be applied.
 */
export async function retrack(
  { ports, settings, clock, readSlots, deadline }: RetrackContext,
  row: ExecutionRecord,
  enumerated: ScopedInstance,
  server: OwnedControlServer,
): Promise<Retracking> {
  const { instanceId } = enumerated.instance;
  const limits = { settings, clock, signal: deadline, retryAnswered: true };
  const read = async <Value>(attempt: (limits: CallOptions) => Promise<Value>): Promise<BoundedRead<Value>> =>
    await boundedRead(limits, async (call) => await readSlots.run(deadline, async () => await attempt(call)));
  const [instance, turn, profile, store] = await Promise.all([
    read(async (call) => await server.client.call('getReconstruction', { instanceId }, call)),
    read(async (call) => await server.client.call('getTurn', { instanceId }, call)),
    boundedAsk(limits, async (signal) => await ports.profiles.resolve(row.agentProfileId, signal)),
    boundedAsk(limits, async (signal) => await ports.sessions.read(row.sessionId, signal)),
  ]);
  if (instance.kind !== 'read') return notRead('reconstruction', instance);
  if (turn.kind !== 'read') return notRead('turn', turn);
  if (profile.kind === 'unread') return { kind: 'failed_read', name: 'profile', detail: profile.detail };
  if (store.kind === 'unread') return { kind: 'failed_read', name: 'session', detail: store.detail };
  if (row.metadata === null) {
    return { kind: 'failed_read', name: 'row', detail: 'its metadata is not readable' };
  }

  const rebuilt = reconstruct({
    row,
    store: store.value,
    instance: { ...instance.value, scope: enumerated.scope, instanceId },
    profile: profile.value,
  });
  if (rebuilt.kind === 'missing') return { kind: 'missing_input', name: rebuilt.name };

  const sessionState = await unlessAborted(
    applyOutcomes(ports.outcomes, row.executionId, turn.value),
    deadline,
  );
  return {
    kind: 'ready',
    session: {
      execution: rebuilt.execution,
      record: row,
      server,
      instance: enumerated.instance,
      turn: turn.value,
      sessionState,
    },
  };
}

function notRead(
  name: 'reconstruction' | 'turn',
  { error }: Exclude<BoundedRead<never>, { kind: 'read' }>,
): NotRetracked {
  // It ended between the enumeration and the read.
  if (error instanceof ControlError && error.code === 'instance_not_found') return { kind: 'no_instance' };
  return { kind: 'failed_read', name, detail: error.message };
}
