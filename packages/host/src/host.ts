import type { RecoveryReport } from '@holdfast/recovery';
import type { Tasks } from '@holdfast/turn-ledger';
import type { HostEvents } from './host-events.ts';
import type { HostServices } from './sessions/host-services.ts';
import { Sessions } from './sessions/sessions.ts';
import type { SurvivalCapability } from './startup/capability.ts';
import { Turns } from './turns/turns.ts';

/** What becomes of the agents when a host closes. */
export interface CloseOptions {
  /** `keep`: they work on and the next host adopts them. `stop`: they are stopped with their control servers. */
  readonly agents: 'keep' | 'stop';
}

/** What a host is made of. */
export interface HostParts {
  readonly home: string;
  readonly survival: SurvivalCapability;
  readonly recovery: RecoveryReport;
  readonly services: HostServices;
  /** Aborts `services.closed`. */
  readonly abort: () => void;
  /** Closes the ledger and releases the installation. */
  readonly letGo: () => Promise<void>;
}

/** A backend's hold on its agents. Made by `createHost`; one for each home directory. */
export class Host implements AsyncDisposable {
  /** The resolved home directory. */
  readonly home: string;
  readonly survival: SurvivalCapability;
  /** What became of the sessions that were live before; prints one line for each. */
  readonly recovery: RecoveryReport;
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
    this.sessions = new Sessions(parts.services);
    this.turns = new Turns(parts.services.ledger, parts.services.results);
    this.tasks = parts.services.ledger.tasks;
    this.events = parts.services.events;
  }

  /**
   * Lets go of the installation. What the agents do from here on is kept by their control servers and told to the next
   * host. With survival off agents cannot be kept: they are stopped. A second call waits for the first.
   */
  async close({ agents }: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(agents === 'keep' && this.survival.state === 'enabled' ? 'keep' : 'stop');
    await this.#closing;
  }

  /** Closes and keeps the agents. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close({ agents: 'keep' });
  }

  async #close(agents: CloseOptions['agents']): Promise<void> {
    const { services, abort, letGo } = this.#parts;
    abort();
    services.results.close();
    const live = [...services.live.values()];
    await Promise.all(live.map(async (execution) => await execution.release()));
    try {
      await Promise.all(
        [...services.runtimes.values()].map(async (runtime) => {
          await (agents === 'keep' ? runtime.detach() : runtime.close());
        }),
      );
      if (agents === 'stop') {
        await services.ledger.reconcile({ sessionIds: live.map(({ execution }) => execution.sessionId) });
      }
    } finally {
      await letGo();
    }
  }
}
