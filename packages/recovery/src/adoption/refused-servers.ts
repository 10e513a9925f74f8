import { ControlClient } from '@holdfast/control-protocol/client';
import type { ControlServerRecord, Dial } from '@holdfast/executor-contract';
import { CALL_TIMEOUT_MS, type OwnershipContext } from './context.ts';
import { answersNoMore } from './stop-server.ts';

/**
 * The servers that this backend was refused by, or could not stop, one a scope. Their records may be rewritten when an own server
 * starts elsewhere; whether their agents may still run has to be told all the same (SURVIVAL-003.6).
 */
export class RefusedServers {
  readonly #settings: OwnershipContext['settings'];
  readonly #refused = new Map<string, { readonly record: ControlServerRecord; readonly dial: Dial }>();

  constructor(settings: OwnershipContext['settings']) {
    this.#settings = settings;
  }

  /** The server on record is not ours to drive, or not to be stopped. */
  remember(record: ControlServerRecord, dial: Dial): void {
    this.#refused.set(record.scope, { record, dial });
  }

  /** The server of the scope was adopted or is gone after all. */
  forget(scope: string): void {
    this.#refused.delete(scope);
  }

  /** Asks for its identity, once and no more. */
  async standing(scope: string, signal: AbortSignal): Promise<'none' | 'answers' | 'gone'> {
    const found = this.#refused.get(scope);
    if (found === undefined) return 'none';
    const { record, dial } = found;
    const { endpoint, route } = await dial(record, signal);
    const client = new ControlClient({ endpoint, timeoutMs: CALL_TIMEOUT_MS });
    const target = { client, route, serverId: record.serverId };
    return (await answersNoMore(this.#settings, target)) ? 'gone' : 'answers';
  }
}
