import { userInfo } from 'node:os';
import { ControlError, type NpmPreference, type RepairedRuntime } from '@holdfast/control-protocol';
import type { Log } from '../diagnostics/log.ts';
import type { Clock } from '../ports/clock.ts';
import { askNpmForCache } from './ask-for-cache.ts';
import { checkCacheRoot } from './cache-root.ts';
import { ColdStarts } from './cold-starts.ts';
import { withPreference, withoutOtherCommands } from './command-in-force.ts';
import { executionKey } from './execution-key.ts';
import { isInstalled, removeExecutionTree, type Removal } from './execution-tree.ts';
import { withFetchLimits } from './fetch-limits.ts';
import { prepareNeutralDirectory } from './neutral-directory.ts';

/** For whom something is done to a package that npm runs. */
export interface RuntimeRequest {
  readonly instanceId: string;
  /** Exact; see `parsePackageSpec`. */
  readonly packageSpec: string;
  /** The agent's. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A package that is to be started. */
export interface RuntimeStart extends RuntimeRequest {
  /** That of its command. */
  readonly preference: NpmPreference;
}

/** Where and how the program of a start is run. */
export interface ProgramPlace {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

interface Use {
  readonly key: string;
  readonly environment: Readonly<Record<string, string>>;
}

const REMOVAL_MS = 60_000;

/** The packages that npm runs as agents of one server: who runs which, who may start, and their repair. */
export class NpmRuntimes {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #directory: string;
  readonly #nextId: () => string;
  readonly #coldStarts: ColdStarts;
  readonly #uses = new Map<string, Use>();
  readonly #repairs = new Map<string, Promise<unknown>>();

  constructor(options: {
    readonly clock: Clock;
    readonly log: Log;
    /** The directory in which npm is run; made when it is needed. */
    readonly directory: string;
    /** Unguessable, 32 hex digits. */
    readonly nextId: () => string;
  }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#directory = options.directory;
    this.#nextId = options.nextId;
    this.#coldStarts = new ColdStarts(options.clock);
  }

  /**
   * Carries out an attempt to start an agent that npm runs, when its turn has come. The package is in use until
   * {@link NpmRuntimes.left} is called, or the attempt fails. Rejects with the reason of the signal while it waits.
   */
  async start<Started>(
    request: RuntimeStart,
    attempt: (place: ProgramPlace) => Promise<Started>,
  ): Promise<Started> {
    const { instanceId, packageSpec, environment, preference, signal } = request;
    const key = executionKey(packageSpec);
    let root: Promise<string | null> | undefined;
    const over = await this.#coldStarts.enter({
      key,
      signal,
      isInstalled: async () => {
        root ??= this.#cacheRootIfKnown(request);
        const found = await root;
        return found !== null && isInstalled(found, key);
      },
    });
    try {
      await this.#onceRepaired(key, signal, () => {
        this.#uses.set(instanceId, { key, environment });
      });
      prepareNeutralDirectory(this.#directory);
      return await attempt({
        cwd: this.#directory,
        environment: withPreference(withoutOtherCommands(withFetchLimits(environment)), preference),
      });
    } catch (error) {
      this.#uses.delete(instanceId);
      throw error;
    } finally {
      over();
    }
  }

  /** The agent of an instance, and all it started, is gone. */
  left(instanceId: string): void {
    this.#uses.delete(instanceId);
  }

  /**
   * Removes npm's installed copy of a package, as the agent of an instance has it (RUNTIME-002.1, RUNTIME-002.2). Rejects with
   * `runtime_in_use`, `unsafe_cache_root` or `npm_unavailable`, and soon after the signal aborts with its reason.
   */
  async repair(request: RuntimeRequest): Promise<RepairedRuntime> {
    const { instanceId, packageSpec, signal } = request;
    const key = executionKey(packageSpec);
    const work = await this.#onceRepaired(key, signal, () => {
      const removal = this.#remove(key, request);
      const over = removal.catch(() => undefined).then(() => this.#repairs.delete(key));
      this.#repairs.set(key, over);
      return { removal };
    });
    // Given up, the removal ends by itself soon; until then nothing is started from what it may still move.
    const { removed, left } = await untilAborted(signal, work.removal);
    this.#log.info({ instanceId, executionKey: key, removed }, 'a runtime was repaired');
    if (left.length > 0) {
      this.#log.warn({ executionKey: key, left: left.slice(0, 10) }, 'a removed runtime is not all deleted');
    }
    return { removed, executionKey: key };
  }

  async #remove(key: string, request: RuntimeRequest): Promise<Removal> {
    const root = await this.#cacheRoot(request.environment, request.signal);
    if (root === null) return { removed: false, left: [] };
    await this.#refuseWhenInUse(key, root, request);
    const deadline = new AbortController();
    const cancelTimer = this.#clock.setTimer(REMOVAL_MS, () => {
      deadline.abort();
    });
    try {
      const { signal } = request;
      return await removeExecutionTree(root, key, {
        signal,
        deadline: deadline.signal,
        nextId: this.#nextId,
      });
    } finally {
      cancelTimer();
    }
  }

  /** Agents of other instances may have the same package in a cache of their own. */
  async #refuseWhenInUse(key: string, root: string, { instanceId, signal }: RuntimeRequest): Promise<void> {
    for (const [user, use] of this.#uses) {
      if (use.key !== key || user === instanceId) continue;
      const theirs = await this.#cacheRoot(use.environment, signal).catch(() => root);
      signal.throwIfAborted();
      if (theirs !== root) continue;
      throw new ControlError(
        'runtime_in_use',
        'The agent of another instance runs from the installed copy of this package; it was left alone.',
        { executionKey: key },
      );
    }
  }

  async #cacheRoot(
    environment: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string | null> {
    prepareNeutralDirectory(this.#directory);
    const answer = await askNpmForCache({
      directory: this.#directory,
      environment: withoutOtherCommands(environment),
      clock: this.#clock,
      signal,
    });
    return await checkCacheRoot(answer, homesOf(environment));
  }

  /** A cache that cannot be found counts as one without the package: the start waits then. */
  async #cacheRootIfKnown({ environment, signal }: RuntimeRequest): Promise<string | null> {
    try {
      return await this.#cacheRoot(environment, signal);
    } catch {
      return null;
    }
  }

  /** Waits until nobody repairs that package, and takes a step before anybody else can begin to. */
  async #onceRepaired<T>(key: string, signal: AbortSignal, step: () => T): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      const repair = this.#repairs.get(key);
      if (repair === undefined) return step();
      await untilAborted(signal, repair);
    }
  }
}

/** Waits for something, but no longer than until the signal aborts; rejects with its reason then. */
async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function homesOf({ HOME = '' }: Readonly<Record<string, string>>): string[] {
  return [HOME, ownHome()].filter((home) => home !== '');
}

function ownHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // A user without an entry in the system's list has none.
    return '';
  }
}
