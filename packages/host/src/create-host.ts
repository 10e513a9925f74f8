import { unownedPeriodInForce, SETTINGS } from '@holdfast/control-protocol';
import { recover, type OutcomeWriter, type RecoveryReport } from '@holdfast/recovery';
import { openLedger, type SessionState } from '@holdfast/turn-ledger';
import { isPostgresUrl, postgresPlace } from '@holdfast/turn-ledger/postgres-url';
import { HostClosedError } from './host-errors.ts';
import { SharedLockLostError } from './startup/installation-errors.ts';
import { HostEvents } from './host-events.ts';
import { checkHostOptions, type CheckedHostOptions, type HostOptions } from './host-options.ts';
import { Host, type CloseOptions, type HostParts } from './host.ts';
import { reconcileAfterRecovery } from './liveness/reconcile.ts';
import { countEvents, countOutcomes } from './metrics/counters.ts';
import type { HostServices } from './sessions/host-services.ts';
import { LedgerPatience } from './sessions/ledger-patience.ts';
import { retrackSession } from './sessions/retrack-session.ts';
import { settleOutcome } from './sessions/settle.ts';
import { assembleServices } from './startup/assemble-services.ts';
import { survivalCapability } from './startup/capability.ts';
import { ClosingStack } from './startup/closing-stack.ts';
import { recoveringHost } from './startup/recovering-host.ts';
import { takeLocks } from './startup/take-locks.ts';
import { orchestrate } from './turns/orchestrate.ts';
import { whileStarting } from './startup/while-starting.ts';

// The hint for a launch that comes while its session is being recovered.
const RETRY_AFTER_MS = 500;

/**
 * Opens an installation and brings it to where launches are safe: lock, ledger, recovery of what lived on, reconciliation of
 * what did not, in that order. Throws `HostOptionError`, `SettingError`, `HomeUnusableError`, `LockFileUnusableError`,
 * `InstallationLockedError`, `SharedLockHeldError`, `SharedLockUnavailableError` or the ledger's errors; then nothing is held.
 * What the agents of an earlier host did meanwhile is in the ledger when it resolves, or arrives right after.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const checked = checkHostOptions(options);
  checked.signal.throwIfAborted();
  const survival = survivalCapability(process.platform, checked.settings.agentSurvival);
  const opened = new ClosingStack();
  try {
    const events = new HostEvents();
    events.subscribe(countEvents(checked.meterProvider));
    events.subscribe(checked.onEvent);
    const { home, lost, isCertain } = await takeLocks(checked, opened, events);
    events.publish({ name: 'survival.capability', survival });
    tellAdjustments(checked, events);
    const ledger = await openLedger(checked.ledger);
    opened.add(async () => {
      await ledger.close();
    });
    const closed = new AbortController();
    const services = assembleServices(checked, {
      home,
      survival,
      ledger,
      patience: new LedgerPatience({ events, isCertain, place: placeOf(checked.ledger.url) }),
      events,
      closed: closed.signal,
      retryAfterMs: RETRY_AFTER_MS,
    });
    orchestrate(services, checked.onTurnComplete);
    const standDown = async (reason: Error, then: CloseOptions['agents']): Promise<void> => {
      closed.abort(reason);
      await letGoOfAgents(services, reason, then);
    };
    standDownWhenLost(lost, events, standDown);
    const recovery = await bringUp(checked, services, lost, standDown);
    return new Host({
      home,
      survival,
      settings: checked.settings,
      recovery,
      services,
      lost,
      standDown,
      opened,
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The ledger, for a person. */
function placeOf(url: string): string {
  return isPostgresUrl(url) ? postgresPlace(url) : url;
}

/** Another backend may act from the moment the lock is lost: then this one acts no more, and its agents live on. */
function standDownWhenLost(lost: AbortSignal, events: HostEvents, standDown: HostParts['standDown']): void {
  const onLost = async (): Promise<void> => {
    const reason: unknown = lost.reason;
    if (!(reason instanceof SharedLockLostError)) return;
    events.publish({ name: 'lock.lost', place: reason.place, detail: reason.message });
    try {
      await standDown(reason, 'keep');
    } catch (error) {
      events.publish({ name: 'host.error', what: 'letting go of the agents', error });
    }
  };
  lost.addEventListener('abort', () => void onLost(), { once: true });
}

function tellAdjustments({ settings }: CheckedHostOptions, events: HostEvents): void {
  const { adjustments } = unownedPeriodInForce(settings.unownedPeriodMs, settings.idleTimeoutMs);
  for (const detail of adjustments) {
    events.publish({ name: 'settings.adjusted', setting: SETTINGS.unownedPeriodMs.key, detail });
  }
}

/** Nothing is read from agents and nothing written about them any more. */
async function letGoOfAgents(
  { results, live, runtimes, starts }: HostServices,
  reason: Error,
  agents: CloseOptions['agents'],
): Promise<void> {
  results.close(reason);
  // They have been told to end, and take down what they made.
  await starts.ended();
  await Promise.all([...live.values()].map(async (execution) => await execution.release()));
  await Promise.all(
    [...runtimes.values()].map(async (runtime) => {
      await (agents === 'keep' ? runtime.detach() : runtime.close());
    }),
  );
}

/** Recovery, then reconciliation. On failure everything that was taken over is let go of, alive. */
async function bringUp(
  checked: CheckedHostOptions,
  services: HostServices,
  lost: AbortSignal,
  standDown: HostParts['standDown'],
): Promise<RecoveryReport> {
  const { ledger, guards, runtimes, agents, events, closed } = services;
  using starting = whileStarting(checked.signal);
  try {
    lost.throwIfAborted();
    const rows = await ledger.executionRecords.listLive();
    checked.onRecovering(recoveringHost(guards, RETRY_AFTER_MS));
    const signal = AbortSignal.any([starting.signal, lost, closed]);
    const recovery = await recover({
      runtimes: [...runtimes.values()],
      rows,
      guards,
      ports: {
        profiles: { resolve: async (id) => await Promise.resolve(agents.get(id) ?? null) },
        sessions: { read: async (sessionId) => await ledger.sessions.get(sessionId) },
        outcomes: outcomeWriter(services),
      },
      settings: checked.settings,
      // Stops may go on when recovery has resolved; they end with the host.
      signal,
      publish: async (session, inTime) => {
        await retrackSession(services, session, inTime);
      },
      onEvent: events.publish.bind(events),
    });
    lost.throwIfAborted();
    const judged = await reconcileAfterRecovery(services, recovery, signal);
    countOutcomes(checked.meterProvider, judged);
    return judged;
  } catch (error) {
    await standDown(new HostClosedError(), 'keep');
    throw error;
  }
}

/** Applies to the ledger what recovery finds, and tells those who listen. */
function outcomeWriter(services: HostServices): OutcomeWriter {
  const { ledger } = services;
  return {
    apply: async (application) => {
      const result = await ledger.outcomes.apply(application);
      if (result.applied) {
        settleOutcome(services, result);
        const { executionId, promptGeneration, controlTurnId, outcome } = application;
        services.unseenEnds.set(executionId, { promptGeneration, controlTurnId, outcome });
        return { sessionState: publishedState(result.sessionState) };
      }
      const session = 'sessionId' in result ? await ledger.sessions.get(result.sessionId) : null;
      return { sessionState: publishedState(session?.state ?? 'waiting_for_input') };
    },
  };
}

/** A session whose agent lives is running, has failed, or can be prompted. */
function publishedState(state: SessionState): 'running' | 'failed' | 'waiting_for_input' {
  return state === 'running' || state === 'failed' ? state : 'waiting_for_input';
}
