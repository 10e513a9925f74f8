import type { RuntimeFactory } from '@holdfast/executor-contract';
import type { ProgramResult } from '@holdfast/testbeds';

/** Where agents run: this machine, a container, another host. Made anew for each test; disposing it removes all of it. */
export interface AgentPlace extends AsyncDisposable {
  /** The runtime with which a host starts agents there. */
  readonly runtime: RuntimeFactory;
  /** A directory on this machine for the home of a host. */
  readonly hostHome: string;
  /** A directory there that a session can work in. */
  readonly workspace: string;
  /** A directory there for what agents and npm leave behind. */
  readonly root: string;
  /** The address of this machine on which a registry, and what agents take for a proxy, is to listen, and the one under which it is reached from there. */
  readonly registryHost: { readonly listen: string; readonly reach: string };
  /** Runs a program there to its end, with the environment that agents get and this over it. */
  run(command: readonly string[], environment: Readonly<Record<string, string>>): Promise<ProgramResult>;
}
