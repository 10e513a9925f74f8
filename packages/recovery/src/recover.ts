import type { Settings } from '@holdfast/control-protocol';
import type {
  ExecutionRecord,
  ExecutorRuntime,
  OwnedControlServer,
  ScopeEnumeration,
  ScopeReport,
} from '@holdfast/executor-contract';
import { correlate, type ScopedInstance } from './correlation/correlate.ts';
import { startDeadline, unlessAborted } from './deadline.ts';
import type { OnRecoveryEvent } from './events/recovery-event.ts';
import { sessionsToGuard, type SessionGuards } from './guards/session-guards.ts';
import type { OutcomeWriter } from './outcomes/outcome-writer.ts';
import type { RowOutcome } from './outcomes/row-outcome.ts';
import { outcomeOfScope } from './outcomes/scope-outcome.ts';
import { systemClock, type Clock } from './ports/clock.ts';
import type { AgentProfiles } from './ports/profiles.ts';
import { RecoveryReport } from './recovery-report.ts';
import { inTurn } from './sessions/in-turn.ts';
import { sessionsOf } from './sessions/session-work.ts';
import { recoverSession } from './sessions/recover-session.ts';
import type { RetrackedSession } from './sessions/retrack.ts';

/** How many sessions are recovered at the same time. */
const SESSIONS_AT_ONCE = 16;

/** What recovery needs of its host. */
export interface RecoverOptions {
  readonly runtimes: readonly ExecutorRuntime[];
  /** The inventory as it stands: one row for each execution that was live. */
  readonly rows: readonly ExecutionRecord[];
  readonly guards: SessionGuards;
  readonly ports: { readonly profiles: AgentProfiles; readonly outcomes: OutcomeWriter };
  readonly settings: Pick<Settings, 'recoveryDeadlineMs' | 'recoveryReadTimeoutMs' | 'recoveryReadRetries'>;
  /** The host's own wish to stop: recovery rejects with its reason and stops no further instance. */
  readonly signal: AbortSignal;
  /** Takes a session that works again. Recovery waits for it; a rejection leaves the instance running and unpublished. */
  readonly publish: (session: RetrackedSession) => Promise<void> | void;
  readonly onEvent: OnRecoveryEvent;
  /** The machine's own unless given. */
  readonly clock?: Clock;
}

/**
 * From rows to working sessions: guards, adopt or start, enumerate, correlate, and then session by session stop what does not
 * belong, rebuild, apply what ended meanwhile, publish. Every row has an outcome when it resolves (SURVIVAL-003.1). Only the
 * holder of the installation lock may call it, once.
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
    const enumerations = (
      await Promise.all(
        runtimes.map(async (runtime) => await enumerate(runtime, rows, scopes, deadline.signal)),
      )
    ).flat();
    signal.throwIfAborted();

    const decisions = correlate(enumerations.flatMap(instancesOf), rows);
    const outcomes = new Map<ExecutionRecord, RowOutcome>();
    const context = {
      ...options,
      servers: serversOf(enumerations),
      deadline: deadline.signal,
      outcomeOfLeft: (row: ExecutionRecord) => outcomeOfScope(row.scope, scopes, enumerations),
      settle: (row: ExecutionRecord, outcome: RowOutcome) => {
        if (!outcomes.has(row)) outcomes.set(row, outcome);
      },
    };
    const turn = inTurn(SESSIONS_AT_ONCE, deadline.signal);
    const sessions = sessionsOf(decisions).map(
      async (work) =>
        await turn(async () => {
          await recoverSession(work, context);
        }),
    );
    // Each session is on its own; a caller who wants to stop is told when all have let go.
    await Promise.allSettled(sessions);
    signal.throwIfAborted();
    return new RecoveryReport({
      scopes,
      rows: rows.map((row) => ({ row, outcome: outcomeIn(outcomes, row) })),
      tookMs: deadline.elapsedMs(),
    });
  } finally {
    deadline.cancel();
  }
}

function outcomeIn(outcomes: ReadonlyMap<ExecutionRecord, RowOutcome>, row: ExecutionRecord): RowOutcome {
  const outcome = outcomes.get(row);
  if (outcome === undefined) throw new Error(`Recovery came to no outcome for execution ${row.executionId}.`);
  return outcome;
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
