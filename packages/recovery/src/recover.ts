import type { Settings } from '@holdfast/control-protocol';
import type {
  ExecutionRecord,
  ExecutorRuntime,
  OwnedControlServer,
  ScopeEnumeration,
  ScopeReport,
} from '@holdfast/executor-contract';
import { correlate, type ScopedInstance } from './correlation/correlate.ts';
import { startDeadline, unlessAborted, type Deadline } from './deadline.ts';
import type { OnRecoveryEvent } from './events/recovery-event.ts';
import { sessionsToGuard, type SessionGuards } from './guards/session-guards.ts';
import type { RowOutcome } from './outcomes/row-outcome.ts';
import { outcomeOfScope } from './outcomes/scope-outcome.ts';
import { systemClock, type Clock } from './ports/clock.ts';
import { RecoveryReport } from './recovery-report.ts';
import { sessionsOf } from './sessions/session-work.ts';
import { recoverSession, type Publish } from './sessions/recover-session.ts';
import type { RecoveryPorts } from './sessions/retrack.ts';
import { Slots } from './sessions/slots.ts';
import { messageOf } from './events/message-of.ts';

// Of calls to control servers, reads and stops each. More of them gain nothing: one process answers.
const AT_A_TIME = 64;

/** What recovery needs of its host. */
export interface RecoverOptions {
  readonly runtimes: readonly ExecutorRuntime[];
  /** The inventory as it stands: one row for each execution that was live. */
  readonly rows: readonly ExecutionRecord[];
  readonly guards: SessionGuards;
  readonly ports: RecoveryPorts;
  readonly settings: Pick<Settings, 'recoveryDeadlineMs' | 'recoveryReadTimeoutMs' | 'recoveryReadRetries'>;
  /**
   * The host's own wish to stop: recovery rejects with its reason and stops no further instance. It goes on to hold for the stops
   * that are under way when recovery resolves at its deadline.
   */
  readonly signal: AbortSignal;
  readonly publish: Publish;
  readonly onEvent: OnRecoveryEvent;
  /** The machine's own unless given. */
  readonly clock?: Clock;
}

/**
 * From rows to working sessions: guards, adopt or start, enumerate, correlate, and then session by session stop what does not
 * belong, rebuild, apply what ended meanwhile, publish. Every row has an outcome when it resolves (SURVIVAL-003.1). Only the
 * holder of the installation lock may call it, once.
 *
 * At the deadline it resolves, later only for adoptions under way: nothing is published any more, and what has no outcome is stopped
 * behind its guard, which is released once that is done, or held for good where it fails (SURVIVAL-003.7).
 */
export async function recover(options: RecoverOptions): Promise<RecoveryReport> {
  const { runtimes, rows, guards, settings, signal, clock = systemClock } = options;
  signal.throwIfAborted();
  for (const sessionId of sessionsToGuard(rows)) guards.acquire(sessionId);

  const deadline = startDeadline(clock, settings.recoveryDeadlineMs, signal);
  try {
    const scopes = (
      await Promise.all(runtimes.map(async (runtime) => await open(runtime, deadline.signal)))
    ).flat();
    signal.throwIfAborted();
    const outcomes = new Map<ExecutionRecord, RowOutcome>();
    const sessions = recoverSessions({ ...options, clock }, scopes, deadline, outcomes);
    await Promise.race([sessions, deadline.reached]);
    // A caller who wants to stop is told when all have let go.
    if (signal.aborted) await sessions;
    signal.throwIfAborted();
    return new RecoveryReport({
      scopes,
      rows: rows.map((row) => ({ row, outcome: outcomes.get(row) ?? outcomeAtDeadline(row, scopes) })),
      tookMs: deadline.elapsedMs(),
    });
  } finally {
    deadline.cancel();
  }
}

/** Brings every session to its outcome, each on its own; never rejects. */
async function recoverSessions(
  options: RecoverOptions & { readonly clock: Clock },
  scopes: readonly ScopeReport[],
  deadline: Deadline,
  outcomes: Map<ExecutionRecord, RowOutcome>,
): Promise<void> {
  const { runtimes, rows, signal, settings, clock } = options;
  // What is to be stopped at the deadline has to be known, so the deadline alone does not cut this: its own read budget does.
  const budgetMs = settings.recoveryReadTimeoutMs * (settings.recoveryReadRetries + 1);
  const leftMs = Math.max(0, settings.recoveryDeadlineMs - deadline.elapsedMs());
  const limit = startDeadline(clock, leftMs + budgetMs, signal);
  const enumerations = (
    await Promise.all(runtimes.map(async (runtime) => await enumerate(runtime, rows, scopes, limit.signal)))
  ).flat();
  limit.cancel();
  if (signal.aborted) return;

  const decisions = correlate(enumerations.flatMap(instancesOf), rows);
  const context = {
    ...options,
    servers: serversOf(enumerations),
    deadline: deadline.signal,
    readSlots: new Slots(AT_A_TIME),
    stopSlots: new Slots(AT_A_TIME),
    outcomeOfLeft: (row: ExecutionRecord) => outcomeOfScope(row.scope, scopes, enumerations),
    settle: (row: ExecutionRecord, outcome: RowOutcome) => {
      if (!outcomes.has(row)) outcomes.set(row, outcome);
    },
  };
  await Promise.allSettled(
    sessionsOf(decisions).map(async (work) => {
      await recoverSession(work, context);
    }),
  );
}

/** The outcome of a row that came to none in time: where its server is driven, what it has there is stopped. */
function outcomeAtDeadline({ scope }: ExecutionRecord, scopes: readonly ScopeReport[]): RowOutcome {
  const report = scopes.find((candidate) => candidate.scope === scope);
  return report?.server === 'adopted' ? { kind: 'deadline' } : outcomeOfScope(scope, scopes, []);
}

async function open(runtime: ExecutorRuntime, signal: AbortSignal): Promise<readonly ScopeReport[]> {
  try {
    return await runtime.open(signal);
  } catch (error) {
    return [{ scope: runtime.kind, server: 'none', refusal: null, detail: messageOf(error), warnings: [] }];
  }
}

async function enumerate(
  runtime: ExecutorRuntime,
  rows: readonly ExecutionRecord[],
  scopes: readonly ScopeReport[],
  signal: AbortSignal,
): Promise<readonly ScopeEnumeration[]> {
  const own = rows.filter((row) => row.runtime === runtime.kind);
  try {
    return await unlessAborted(runtime.recoverInstances(own, signal), signal);
  } catch (error) {
    return scopes
      .filter(({ scope, server }) => server === 'adopted' && scope.split(':', 1)[0] === runtime.kind)
      .map(({ scope }) => ({ kind: 'not_enumerated', scope, detail: messageOf(error) }));
  }
}

function instancesOf(enumeration: ScopeEnumeration): ScopedInstance[] {
  if (enumeration.kind === 'not_enumerated') return [];
  return enumeration.instances.map((instance) => ({ scope: enumeration.scope, instance }));
}

function serversOf(enumerations: readonly ScopeEnumeration[]): ReadonlyMap<string, OwnedControlServer> {
  return new Map(
    enumerations.flatMap((enumeration) =>
      enumeration.kind === 'enumerated' ? [[enumeration.scope, enumeration.server]] : [],
    ),
  );
}
