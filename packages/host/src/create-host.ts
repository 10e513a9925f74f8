import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { CAPABILITIES, controlServerEnvironment } from '@holdfast/control-protocol';
import { controlServerCommand } from '@holdfast/control-server';
import {
  SessionGuards,
  createFileSecretStore,
  createOwnership,
  planReconciliation,
  recover,
  type OutcomeWriter,
  type RecoveryReport,
} from '@holdfast/recovery';
import { SessionGuard, openLedger, type Ledger, type SessionState } from '@holdfast/turn-ledger';
import { HostEvents } from './host-events.ts';
import { checkHostOptions, type CheckedHostOptions, type HostOptions } from './host-options.ts';
import { Host } from './host.ts';
import type { HostServices } from './sessions/host-services.ts';
import { retrackSession } from './sessions/retrack-session.ts';
import { StoredNotice } from './sessions/stored-notice.ts';
import { survivalCapability, type SurvivalCapability } from './startup/capability.ts';
import { ClosingStack } from './startup/closing-stack.ts';
import { openInstallation } from './startup/open-installation.ts';
import { recoveringHost } from './startup/recovering-host.ts';
import { TurnResults, resultOf } from './turns/turn-results.ts';

// The hint for a launch that comes while its session is being recovered.
const RETRY_AFTER_MS = 500;

/**
 * Opens an installation and brings it to where launches are safe: lock, ledger, recovery of what lived on, reconciliation of
 * what did not, in that order. Throws `HostOptionError`, `SettingError`, `HomeUnusableError`, `InstallationLockedError` or
 * the ledger's errors; then nothing is held. What the agents of an earlier host did meanwhile is in the ledger when it
 * resolves, or arrives right after.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const checked = checkHostOptions(options);
  checked.signal.throwIfAborted();
  const survival = survivalCapability(process.platform, checked.settings.agentSurvival);
  const opened = new ClosingStack();
  try {
    const { home, lock } = await openInstallation(checked.home, new Date());
    opened.add(() => {
      lock.release();
    });
    const ledger = await openLedger({ url: checked.ledgerFile });
    opened.add(async () => {
      await ledger.close();
    });
    const closed = new AbortController();
    const services = assembleServices(checked, { home, survival, ledger, closed: closed.signal });
    const recovery = await bringUp(checked, services, async () => {
      closed.abort();
      await Promise.all([...services.live.values()].map(async (live) => await live.release()));
      await Promise.all([...services.runtimes.values()].map(async (runtime) => await runtime.detach()));
    });
    return new Host({
      home,
      survival,
      recovery,
      services,
      abort: () => {
        closed.abort();
      },
      letGo: async () => {
        await opened.close();
      },
    });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function assembleServices(
  checked: CheckedHostOptions,
  parts: {
    readonly home: string;
    readonly survival: SurvivalCapability;
    readonly ledger: Ledger;
    readonly closed: AbortSignal;
  },
): HostServices {
  const { home, survival, ledger, closed } = parts;
  const { settings } = checked;
  const events = new HostEvents();
  events.subscribe(checked.onEvent);
  const onEvent = events.publish.bind(events);
  const ownership = createOwnership({
    home,
    records: ledger.controlServers,
    secrets: createFileSecretStore(join(home, 'secrets')),
    requiredCapabilities: CAPABILITIES,
    settings,
    onEvent,
  });
  const context = {
    home,
    ownership,
    survival: survival.state === 'enabled',
    serverCommand: controlServerCommand(),
    serverSettings: controlServerEnvironment(settings),
    environment: checked.environment,
  };
  return {
    ledger,
    runtimes: new Map(checked.runtimes.map((runtime) => [runtime.kind, runtime.create(context)])),
    agents: checked.agents,
    events,
    guards: new SessionGuards({ retryAfterMs: RETRY_AFTER_MS, onEvent }),
    sessionGuard: new SessionGuard(),
    results: new TurnResults(async (turnId) => {
      const turn = await ledger.turns.get(turnId);
      return turn === null ? undefined : resultOf(turn);
    }),
    stored: new StoredNotice(),
    live: new Map(),
    newId: randomUUID,
    closed,
  };
}

/** Recovery, then reconciliation. On failure everything that was taken over is let go of, alive. */
async function bringUp(
  checked: CheckedHostOptions,
  services: HostServices,
  letGo: () => Promise<void>,
): Promise<RecoveryReport> {
  const { ledger, guards, runtimes, agents, events } = services;
  try {
    const rows = await ledger.executionRecords.listLive();
    checked.onRecovering(recoveringHost(guards, RETRY_AFTER_MS));
    const recovery = await recover({
      runtimes: [...runtimes.values()],
      rows,
      guards,
      ports: {
        profiles: { resolve: async (id) => await Promise.resolve(agents.get(id) ?? null) },
        outcomes: outcomeWriter(services),
      },
      settings: checked.settings,
      signal: checked.signal,
      publish: async (session) => {
        await retrackSession(services, session);
      },
      onEvent: events.publish.bind(events),
    });
    await reconcile(services, recovery);
    return recovery;
  } catch (error) {
    await letGo();
    throw error;
  }
}

/** Applies to the ledger what recovery finds, and tells those who listen. */
function outcomeWriter({ ledger, events, results }: HostServices): OutcomeWriter {
  return {
    apply: async (application) => {
      const result = await ledger.outcomes.apply(application);
      if (result.applied) {
        const { turnId, sessionId, sessionState } = result;
        results.settle(turnId, application.outcome);
        events.publish({ name: 'turn.outcome', sessionId, turnId, outcome: application.outcome });
        return { sessionState: publishedState(sessionState) };
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

/** Makes the sessions truthful that did not come back, those included that died before they had a row. */
async function reconcile({ ledger, live }: HostServices, recovery: RecoveryReport): Promise<void> {
  const plan = planReconciliation(recovery.rows);
  const named = new Set(recovery.rows.map(({ row }) => row.sessionId));
  const rowless = (await ledger.sessions.list()).filter(
    ({ sessionId, state }) =>
      !named.has(sessionId) && !live.has(sessionId) && (state === 'starting' || state === 'running'),
  );
  await ledger.reconcile({ sessionIds: [...plan.sessionIds, ...rowless.map(({ sessionId }) => sessionId)] });
  await ledger.executionWriter.repair(plan.repairs.map(({ executionId }) => executionId));
}
