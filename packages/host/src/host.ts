import type { Settings } from '@holdfast/control-protocol';
import type { RecoveryReport } from '@holdfast/recovery';
import type { Tasks } from '@holdfast/turn-ledger';
import { OBJECT, TEXT, assertGiven, type Accepted } from './check-given.ts';
import { HostClosedError } from './host-errors.ts';
import type { HostEvents } from './host-events.ts';
import { describeHost } from './host-report.ts';
import { reconcileLeftRows, type ReconciledRow } from './liveness/reconcile.ts';
import type { HostServices } from './sessions/host-services.ts';
import { Sessions } from './sessions/sessions.ts';
import { settleSessions } from './sessions/settle.ts';
import { unlessClosed } from './sessions/unless-closed.ts';
import type { SurvivalCapability } from './startup/capability.ts';
import type { ClosingStack } from './startup/closing-stack.ts';
import { Turns } from './turns/turns.ts';

/** What becomes of the agents when a host closes. */
export interface CloseOptions {
  /** `keep`: they work on and the next host adopts them. `stop`: they are stopped with their control servers. */
  readonly agents: 'keep' | 'stop';
}

const KEEP_OR_STOP: Accepted<CloseOptions['agents']> = {
  words: '"keep" or "stop"',
  is: (value) => value === 'keep' || value === 'stop',
};

/** What a host is made of. */
export interface HostParts {
  readonly home: string;
  readonly survival: SurvivalCapability;
  readonly settings: Settings;
  readonly recovery: RecoveryReport;
  readonly services: HostServices;
  /** Aborts when the installation is this host's no more. */
  readonly lost: AbortSignal;
  /** Aborts `services.closed` with the reason and lets go of the agents, alive or stopped. */
  readonly standDown: (reason: Error, agents: CloseOptions['agents']) => Promise<void>;
  /** Closes the ledger and releases the installation. */
  readonly opened: ClosingStack;
}

/** A backend's hold on its agents. Made by `createHost`; one for each home directory. */
export class Host implements AsyncDisposable {
  /** The resolved home directory. */
  readonly home: string;
  readonly survival: SurvivalCapability;
  /** What became of the sessions that were live before; prints one line for each. */
  readonly recovery: RecoveryReport;
  /**
   * Aborts with a `SharedLockLostError` when the shared lock is lost. The host has stopped acting then: it takes no calls,
   * its agents live on and another host may drive them. Close it, and start another.
   */
  readonly lost: AbortSignal;
  readonly sessions: Sessions;
  readonly turns: Turns;
  /** The units of work that sessions belong to, as the ledger has them. */
  readonly tasks: Pick<Tasks, 'get' | 'list'>;
  readonly events: HostEvents;
  readonly #parts: HostParts;
  #closing: Promise<void> | undefined;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.home = parts.home;
    this.survival = parts.survival;
    this.recovery = parts.recovery;
    this.lost = parts.lost;
    this.sessions = new Sessions(parts.services);
    this.turns = new Turns(parts.services);
    const { ledger, closed } = parts.services;
    this.tasks = {
      get: async (taskId) => {
        closed.throwIfAborted();
        assertGiven('taskId', taskId, TEXT);
        return await ledger.tasks.get(taskId);
      },
      list: async () => {
        closed.throwIfAborted();
        return await ledger.tasks.list();
      },
    };
    this.events = parts.services.events;
  }

  /**
   * For a person: whether agents can outlive this host and why not, the unowned period in force at each control server with
   * what adjusted it (OWNERSHIP-003.4), and what recovery came to.
   */
  report(): string {
    const { survival, settings, recovery, services } = this.#parts;
    return describeHost({ survival, settings, recovery, servers: services.servers() });
  }

  /**
   * What each control server of this host measures of itself and its instances, for a scraper: OpenMetrics text, one for each
   * scope. A server that does not answer is left out.
   */
  async serverMetrics(
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ReadonlyArray<{ readonly scope: string; readonly text: string }>> {
    const { services } = this.#parts;
    const signal = unlessClosed(services, options.signal);
    const answers = await Promise.allSettled(
      services.servers().map(async ({ scope, client }) => ({
        scope,
        text: await client.call('getMetrics', {}, { signal }),
      })),
    );
    signal.throwIfAborted();
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /**
   * Looks again at the rows that recovery had to leave in the inventory because their processes could not be told to be gone, and
   * repairs those that are by now. A prompt does the same for its own session. One line a row.
   */
  async reconcile(options: { readonly signal?: AbortSignal } = {}): Promise<readonly ReconciledRow[]> {
    const { services } = this.#parts;
    services.closed.throwIfAborted();
    return await reconcileLeftRows(services, unlessClosed(services, options.signal));
  }

  /**
   * Lets go of the installation. What the agents do from here on is kept by their control servers and told to the next
   * host. `stop` cancels their open turns and leaves their tasks as they are. With survival off agents cannot be kept: they are
   * stopped, and what they were at counts as interrupted, as after a crash. A host that has lost the installation stops nothing.
   * A second call waits for the first.
   */
  async close(options: CloseOptions): Promise<void> {
    assertGiven('options', options, OBJECT);
    const { agents } = options;
    assertGiven('agents', agents, KEEP_OR_STOP);
    this.#closing ??= this.#close(agents === 'stop');
    await this.#closing;
  }

  /** Closes and keeps the agents. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ agents: 'keep' });
  }

  /** `meant`: agents are to stop; otherwise they may have to, because they cannot outlive this host, and are interrupted then. */
  async #close(meant: boolean): Promise<void> {
    const { services, standDown, opened } = this.#parts;
    const stops = (meant || this.survival.state !== 'enabled') && !this.lost.aborted;
    const sessionIds = [...services.live.keys()];
    try {
      await standDown(new HostClosedError(), stops ? 'stop' : 'keep');
      if (stops) {
        const session = meant ? 'stop' : 'reconcile';
        await settleSessions(services, {
          sessions: sessionIds.map((sessionId) => ({ sessionId, session, repair: 'all' })),
        });
      }
    } finally {
      await opened.close();
    }
  }
}
