import type {
  AdoptionResult,
  ControlServerRecord,
  Ownership,
  SurvivorResult,
} from '@holdfast/executor-contract';
import { systemClock } from '../ports/clock.ts';
import { systemRandom } from '../ports/random.ts';
import { adoptServer } from './adopt.ts';
import { authenticate } from './authenticate.ts';
import { bootstrapServer } from './bootstrap.ts';
import type { OwnershipContext } from './context.ts';
import { endedUnowned } from './last-words.ts';
import { RefusedServers } from './refused-servers.ts';
import { absent } from './refusal.ts';
import { SpentSecrets } from './spent-secrets.ts';
import { stopServer, targetOf } from './stop-server.ts';

type Defaulted = 'clock' | 'random' | 'crashPoint';

/**
 * What ownership of control servers needs. Clock and randomness are the machine's own unless given; `crashPoint` is for tests and
 * does nothing unless given.
 */
export type OwnershipOptions = Omit<OwnershipContext, Defaulted | 'spent'> &
  Partial<Pick<OwnershipContext, Defaulted>>;

/**
 * The one algorithm by which a backend comes to own control servers, whatever their runtime. To be used by the holder of the
 * installation lock only, one call a scope at a time.
 */
export function createOwnership(options: OwnershipOptions): Ownership {
  const spent = new SpentSecrets();
  const context: OwnershipContext = {
    clock: systemClock,
    random: systemRandom,
    crashPoint: () => undefined,
    ...options,
    spent,
  };
  const { onEvent, crashPoint } = context;
  const refusedServers = new RefusedServers(context.settings);

  return {
    async adopt(scope, dial, signal) {
      signal.throwIfAborted();
      const record = await context.records.read(scope);
      if (record === null) return absent('no_record');
      crashPoint('adoption.record_read');
      const { endpoint, serverId } = record;
      onEvent({ name: 'adoption.attempted', scope, endpoint, serverId });
      const result = await adoptServer(context, record, dial, signal);
      await tell(context, record, result);
      if (result.kind === 'refused') refusedServers.remember(record, dial);
      else refusedServers.forget(scope);
      if (result.kind === 'incompatible_stopped') spent.serverIsGone(serverId);
      return result;
    },

    async bootstrap(scope, fresh, signal) {
      return await bootstrapServer(context, scope, fresh, signal);
    },

    async endSurvivor(scope, dial, signal): Promise<SurvivorResult> {
      const record = await context.records.read(scope);
      if (record === null) return { kind: 'none' };
      crashPoint('adoption.record_read');
      const { serverId } = record;
      const server = await authenticate(context, record, dial, signal);
      if (server.kind === 'absent') return { kind: 'none' };
      if (server.kind === 'refused') {
        const { reason, detail } = server;
        refusedServers.remember(record, dial);
        onEvent({ name: 'survivor.left_alone', scope, serverId, reason, detail });
        return { kind: 'left_alone', reason };
      }
      // Whatever it can do: nobody is to work with it any more.
      const stop = await stopServer(context, targetOf(server));
      if (stop.kind === 'stopped') {
        spent.serverIsGone(serverId);
        onEvent({ name: 'survivor.stopped', scope, serverId });
      } else {
        refusedServers.remember(record, dial);
        onEvent({ name: 'survivor.not_stopped', scope, serverId, detail: stop.detail });
      }
      return stop;
    },

    async refusedServer(scope, signal) {
      return await refusedServers.standing(scope, signal);
    },
  };
}

async function tell(
  { onEvent }: OwnershipContext,
  record: ControlServerRecord,
  result: AdoptionResult,
): Promise<void> {
  const { scope, serverId } = record;
  if (result.kind === 'refused') {
    onEvent({ name: 'adoption.refused', scope, reason: result.reason, detail: result.detail });
  } else if (result.kind === 'incompatible_stopped') {
    onEvent({ name: 'adoption.incompatible_stopped', scope, missing: result.missing });
  } else if (result.kind === 'absent' && result.why === 'no_answer') {
    onEvent({
      name: 'adoption.refused',
      scope,
      reason: 'no_answer',
      detail: 'nothing answers at the recorded endpoint',
    });
    if (await endedUnowned(record)) onEvent({ name: 'adoption.unowned_shutdown', scope, serverId });
  } else if (result.kind === 'absent') {
    onEvent({ name: 'adoption.shutting_down', scope });
  }
}
