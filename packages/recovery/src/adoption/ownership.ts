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
import { absent } from './refusal.ts';
import { stopServer } from './stop-server.ts';

/** What ownership of control servers needs. Clock and randomness are the machine's own unless given. */
export type OwnershipOptions = Omit<OwnershipContext, 'clock' | 'random'> &
  Partial<Pick<OwnershipContext, 'clock' | 'random'>>;

/**
 * The one algorithm by which a backend comes to own control servers, whatever their runtime. To be used by the holder of the
 * installation lock only, one call a scope at a time.
 */
export function createOwnership(options: OwnershipOptions): Ownership {
  const context: OwnershipContext = { clock: systemClock, random: systemRandom, ...options };
  const { onEvent } = context;
  // Secrets of servers that were found gone. After a refusal the server may still live, so its secret stays.
  const forgettable = new Set<string>();

  return {
    async adopt(scope, dial, signal) {
      signal.throwIfAborted();
      const record = await context.records.read(scope);
      if (record === null) return absent('no_record');
      const { endpoint, serverId, credentialRef } = record;
      onEvent({ name: 'adoption.attempted', scope, endpoint, serverId });
      const result = await adoptServer(context, record, dial, signal);
      tell(context, record, result);
      if (result.kind === 'absent' || result.kind === 'incompatible_stopped') forgettable.add(credentialRef);
      return result;
    },

    async bootstrap(scope, fresh, signal) {
      return await bootstrapServer(context, scope, fresh, {
        signal,
        mayForget: ({ credentialRef }) => forgettable.delete(credentialRef),
      });
    },

    async endSurvivor(scope, dial, signal): Promise<SurvivorResult> {
      const record = await context.records.read(scope);
      if (record === null) return { kind: 'none' };
      const server = await authenticate(context, record, dial, signal);
      if (server.kind === 'refused') return { kind: 'left_alone', reason: server.reason };
      if (server.kind === 'absent') {
        forgettable.add(record.credentialRef);
        return { kind: 'none' };
      }
      const stop = await stopServer(context, server.client, server.identity.serverId);
      if (stop.kind === 'stopped') {
        forgettable.add(record.credentialRef);
        return { kind: 'stopped' };
      }
      return { kind: 'not_stopped', detail: stop.detail };
    },
  };
}

function tell({ onEvent }: OwnershipContext, { scope }: ControlServerRecord, result: AdoptionResult): void {
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
  } else if (result.kind === 'absent') {
    onEvent({ name: 'adoption.shutting_down', scope });
  }
}
