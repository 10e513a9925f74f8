import type { ControlServerRecord, Dial } from '@holdfast/executor-contract';
import type { OwnershipContext } from './context.ts';
import { stillListens } from './still-listens.ts';

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

  /** It is sent nothing (OWNERSHIP-001.4). A tunnel takes every connection, so that behind one it is never gone for certain. */
  async standing(scope: string, signal: AbortSignal): Promise<'none' | 'answers' | 'gone'> {
    const found = this.#refused.get(scope);
    if (found === undefined) return 'none';
    const { endpoint, route } = await found.dial(found.record, signal);
    if (route === 'tunnel') return 'answers';
    return (await stillListens(endpoint, this.#settings.recoveryReadTimeoutMs)) ? 'answers' : 'gone';
  }
}
