import type { OperationName } from '@holdfast/control-protocol';
import type { RuntimeTraits } from '@holdfast/executor-contract';
import { createHost, type CreateSession, type Host, type HostEvent, type Session } from '@holdfast/host';
import { hungServer, npmRegistry, type NpmRegistry, type TcpServer } from '@holdfast/testbeds';
import { AGENT, TRACE_VARIABLE, agentPackage, type TracedStart } from './agent-package.ts';
import type { AgentPlace } from './agent-place.ts';
import { observedRuntime, type ControlCall, type Observer } from './observed-runtime.ts';

/** How a host of a scene differs from the usual one. */
export interface SceneHost {
  /** The version of the agent's package. */
  readonly version: string;
  /** Laid over the agent's environment. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly traits?: Partial<RuntimeTraits>;
  readonly survival?: 'on' | 'off';
}

/** What the agent's program is given. */
export const AGENT_ARGS = ['acp', '--color=no', 'two words'];

const STEPS: ReadonlySet<OperationName> = new Set(['startAgent', 'stopAgent', 'repairRuntime']);

/** A place for agents with a registry that has versions 1.0.0 of the agent and of a sibling, and with nothing else in reach. */
export class Scene implements AsyncDisposable {
  readonly place: AgentPlace;
  readonly registry: NpmRegistry;
  /** Every event of every host. */
  readonly events: HostEvent[] = [];
  readonly observer: Observer = { calls: [], onAnswered: () => undefined };
  /** What agents take for their way to the rest of the world. */
  readonly #outside: TcpServer;

  private constructor(place: AgentPlace, registry: NpmRegistry, outside: TcpServer) {
    this.place = place;
    this.registry = registry;
    this.#outside = outside;
  }

  /** Takes the place over; it ends with the scene. */
  static async at(place: AgentPlace): Promise<Scene> {
    await using opened = new AsyncDisposableStack();
    opened.use(place);
    const registry = opened.use(await npmRegistry({ host: place.registryHost.listen }));
    registry.publish(await agentPackage('1.0.0'));
    const outside = opened.use(await hungServer({ host: place.registryHost.listen }));
    // From here on the scene ends them.
    opened.move();
    return new Scene(place, registry, outside);
  }

  get cache(): string {
    return `${this.place.root}/npm-cache`;
  }

  /** How many connections were tried to anything but the registry. */
  get connectionsOutside(): number {
    return this.#outside.connections;
  }

  /** The environment of agents, that of npm included. */
  environment(): Record<string, string> {
    const { root, registryHost } = this.place;
    const outside = `http://${registryHost.reach}:${String(this.#outside.port)}`;
    return {
      HOME: `${root}/home`,
      SCRIPTED_AGENT_STATE: `${root}/conversations`,
      [TRACE_VARIABLE]: `${root}/starts`,
      npm_config_cache: this.cache,
      npm_config_registry: `http://${registryHost.reach}:${String(this.registry.port)}`,
      npm_config_globalconfig: `${root}/no-such-npmrc`,
      // In both ways of writing them, of which npm takes whichever comes last.
      ...Object.fromEntries(
        Object.entries({ HTTP_PROXY: outside, HTTPS_PROXY: outside, NO_PROXY: registryHost.reach }).flatMap(
          ([name, value]) => [
            [name, value],
            [name.toLowerCase(), value],
          ],
        ),
      ),
    };
  }

  /** Publishes a version of the agent; npm's copy of the metadata, where there is one, is stale from here on. */
  async publish(version: string): Promise<void> {
    this.registry.publish(await agentPackage(version));
  }

  /** Lets npx run a package to its end, which leaves its installed copy and its metadata in the cache. */
  async cached(packageSpec: string): Promise<void> {
    const result = await this.place.run(['npx', '--yes', packageSpec], this.environment());
    if (result.exitCode !== 0) throw new Error(`npx ${packageSpec} failed:\n${result.stderr}`);
  }

  async host({ version, environment = {}, traits = {}, survival = 'off' }: SceneHost): Promise<Host> {
    const { place } = this;
    return await createHost({
      home: place.hostHome,
      survival,
      runtimes: [observedRuntime(place.runtime, this.observer, traits)],
      agents: {
        acme: {
          npm: { package: AGENT, version, args: AGENT_ARGS },
          environment: { ...this.environment(), ...environment },
          modeId: 'auto',
        },
      },
      onEvent: (event) => {
        this.events.push(event);
      },
    });
  }

  /** What a session of a scene is made of. */
  session(sessionId: string, more: Partial<CreateSession> = {}): CreateSession {
    return {
      sessionId,
      taskId: `task-${sessionId}`,
      agent: 'acme',
      runtime: this.place.runtime.kind,
      workspace: { kind: 'local', path: this.place.workspace },
      ...more,
    };
  }

  /** The calls of that operation so far. */
  calls(name: OperationName): readonly ControlCall[] {
    return this.observer.calls.filter((call) => call.name === name);
  }

  /** The operations about the start of agents that were called so far, in order. */
  steps(): readonly OperationName[] {
    return this.observer.calls.map(({ name }) => name).filter((name) => STEPS.has(name));
  }

  /** The starts of the agent's program that came as far as the program. */
  async starts(version: string): Promise<readonly TracedStart[]> {
    const { stdout } = await this.place.run(['sh', '-c', 'cat "$0" 2>&-', `${this.place.root}/starts`], {});
    return (
      stdout
        .split('\n')
        .filter((line) => line !== '')
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the agent's package
        .map((line) => JSON.parse(line) as TracedStart)
        .filter((start) => start.version === version)
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.place[Symbol.asyncDispose]();
    await this.registry[Symbol.asyncDispose]();
    await this.#outside[Symbol.asyncDispose]();
  }
}

/** What a session answers to a prompt that its agent echoes. */
export async function promptOnce(session: Session, text: string): Promise<unknown> {
  return await (
    await session.prompt(text)
  ).outcome;
}
