import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { REQUIRED_CAPABILITIES, controlServerEnvironment } from '@holdfast/control-protocol';
import { controlServerCommand } from '@holdfast/control-server';
import { SessionGuards, createFileSecretStore, createOwnership, systemClock } from '@holdfast/recovery';
import { ReadyBus, SessionGuard, type Ledger } from '@holdfast/turn-ledger';
import type { HostEvents } from '../host-events.ts';
import { HostLiveness } from '../liveness/host-liveness.ts';
import type { CheckedHostOptions } from '../host-options.ts';
import type { HostServices } from '../sessions/host-services.ts';
import type { LedgerPatience } from '../sessions/ledger-patience.ts';
import { PendingPrompts } from '../sessions/pending-prompts.ts';
import { StartsUnderWay } from '../sessions/starts-under-way.ts';
import { StoredNotice } from '../sessions/stored-notice.ts';
import { TurnResults, resultOf } from '../turns/turn-results.ts';
import type { SurvivalCapability } from './capability.ts';
import { knownServers } from './known-servers.ts';

/** What a host's services are built on. */
export interface ServiceParts {
  readonly home: string;
  readonly survival: SurvivalCapability;
  readonly ledger: Ledger;
  readonly patience: LedgerPatience;
  readonly events: HostEvents;
  readonly closed: AbortSignal;
  /** The hint for a launch that comes while its session is being recovered. */
  readonly retryAfterMs: number;
}

/** Builds everything that the sessions of one host share; contacts nobody. */
export function assembleServices(checked: CheckedHostOptions, parts: ServiceParts): HostServices {
  const { home, survival, ledger, patience, events, closed, retryAfterMs } = parts;
  const { settings } = checked;
  const onEvent = events.publish.bind(events);
  const { ownership, servers } = knownServers(
    createOwnership({
      home,
      records: ledger.controlServers,
      secrets: createFileSecretStore(join(home, 'secrets')),
      requiredCapabilities: REQUIRED_CAPABILITIES,
      settings,
      onEvent,
    }),
  );
  const context = {
    home,
    ownership,
    survival: survival.state === 'enabled',
    serverCommand: controlServerCommand(),
    serverSettings: controlServerEnvironment(settings),
    environment: checked.environment,
  };
  const runtimes = new Map(checked.runtimes.map((runtime) => [runtime.kind, runtime.create(context)]));
  const guards = new SessionGuards({ retryAfterMs, onEvent });
  return {
    ledger,
    patience,
    runtimes,
    servers,
    agents: checked.agents,
    events,
    guards,
    liveness: new HostLiveness({ survival: context.survival, runtimes, servers, ownership, guards }),
    sessionGuard: new SessionGuard(),
    ready: new ReadyBus((error) => {
      events.publish({ name: 'host.error', what: 'what follows the end of a turn', error });
    }),
    pending: new PendingPrompts(),
    starts: new StartsUnderWay(),
    results: new TurnResults(async (turnId) => {
      const turn = await patience.insist(async () => await ledger.turns.get(turnId), closed);
      return turn === null ? undefined : resultOf(turn);
    }),
    stored: new StoredNotice(),
    live: new Map(),
    takenOver: new Map(),
    unseenEnds: new Map(),
    cancelLimitMs: checked.cancelLimitMs,
    clock: systemClock,
    wallTime: () => new Date().toISOString(),
    newId: randomUUID,
    closed,
  };
}
