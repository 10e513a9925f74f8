import {
  CreateInstance,
  Id,
  StartAgent,
  StartBudgetMs,
  npmRuntimeCommand,
  parsePackageSpec,
  type JsonObject,
  type NpmPreference,
} from '@holdfast/control-protocol';
import type { AgentProfile as RecoveredProfile, HistorySetting } from '@holdfast/recovery';
import { OBJECT, TEXT, assertGiven, assertIfGiven, assertKnownNames, type Accepted } from '../check-given.ts';
import { HostOptionError } from '../host-errors.ts';
import { FIRST_PREFERENCE } from './npm-preferences.ts';

/** What every kind of agent may be given. */
interface AgentSettings {
  /**
   * Whether the start for a session that has a conversation loads it. `preferred` (the default): a new one begins where the agent
   * cannot. `required`: the start fails then. `none`: a new one begins always.
   */
  readonly history?: HistorySetting;
  /** Which agent this is, for hosts that run one under several names. Default: its name. */
  readonly agentId?: string;
  /** Laid over the control server's small base environment; reaches the agent and nothing else. */
  readonly environment?: Readonly<Record<string, string>>;
  /** MCP servers in ACP's own shape. */
  readonly mcpServers?: readonly JsonObject[];
  readonly modeId?: string;
  readonly modelId?: string;
  readonly authMethodId?: string;
  /** `ask` (the default) leaves permission requests to the host; `allow` grants them at once. */
  readonly approval?: 'ask' | 'allow';
  /**
   * How long a start may take, from the program's start to the open session, in milliseconds: 1,000 to 3,600,000. Default: five
   * minutes until the agent answers, and five more for its session.
   */
  readonly startBudgetMs?: number;
  /**
   * The agent is ended, with an `agent_error` event, when it and all it started hold more memory than this, in bytes, at least
   * 16 MiB; looked at once a second. What processes share counts for each. Default: no limit.
   */
  readonly memoryLimitBytes?: number;
}

/** An agent that is a program of the machine it runs on. */
export interface ProgramAgentOptions extends AgentSettings {
  /** Program and arguments of an ACP agent that speaks over stdio. */
  readonly command: readonly string[];
  /** The same for a session that has a conversation to load. Default: `command`. */
  readonly continuationCommand?: readonly string[];
  readonly npm?: undefined;
}

/** An agent that npm fetches and runs where the agent runs, and whose stale metadata is repaired by itself. */
export interface NpmAgentOptions extends AgentSettings {
  readonly npm: {
    /** The name of a package with one program, e.g. `opencode-ai`. */
    readonly package: string;
    /** An exact version, e.g. `1.18.33`: no range and no tag. */
    readonly version: string;
    /** What its program is given, e.g. `['acp']`. */
    readonly args?: readonly string[];
  };
  readonly command?: undefined;
}

/** How to run one kind of agent: a `command`, or a package for `npm` to run. */
export type AgentOptions = ProgramAgentOptions | NpmAgentOptions;

/** The package that npm runs as an agent. */
export interface NpmRuntime {
  /** `<package>@<exact version>` */
  readonly packageSpec: string;
  readonly args: readonly string[];
}

/** An agent's options, complete. The commands are those of a first start. */
export interface AgentProfile extends RecoveredProfile {
  /** Null for an agent that is not npm's. */
  readonly npm: NpmRuntime | null;
  readonly environment: Readonly<Record<string, string>>;
  readonly mcpServers: readonly JsonObject[];
  readonly modeId: string | null;
  readonly modelId: string | null;
  readonly authMethodId: string | null;
  readonly approval: 'ask' | 'allow';
  /** Null leaves it to the control server. */
  readonly startBudgetMs: number | null;
  readonly memoryLimitBytes: number | null;
}

/** The command that starts an agent for a session, new or to be loaded. npm's preferences differ in nothing else (RUNTIME-001.4). */
export function commandFor(
  { command, continuationCommand, npm }: AgentProfile,
  session: 'new' | 'load',
  preference: NpmPreference,
): readonly string[] {
  if (npm !== null) return npmRuntimeCommand(npm.packageSpec, npm.args, preference);
  return session === 'new' ? command : continuationCommand;
}

/** Checks the agent of that name; throws {@link HostOptionError}. */
export function checkAgent(name: string, agent: AgentOptions): AgentProfile {
  if (!Id.safeParse(name).success) {
    throw new HostOptionError('agents', name, 'names of 1 to 128 characters of A-Z, a-z, 0-9, _ and -');
  }
  assertGiven(`agents.${name}`, agent, OBJECT);
  assertKnownNames(`agents.${name}`, agent, KNOWN);
  const { startBudgetMs = null, memoryLimitBytes = null, environment = {}, mcpServers = [] } = agent;
  // Their values are not named: they have secrets.
  if (!CreateInstance.shape.environment.safeParse(environment).success) {
    const given = OBJECT.is(environment) ? Object.keys(environment) : typeof environment;
    throw new HostOptionError(`agents.${name}.environment`, given, 'an object of texts');
  }
  if (!StartAgent.shape.mcpServers.safeParse(mcpServers).success) {
    throw new HostOptionError(`agents.${name}.mcpServers`, typeof mcpServers, 'a list of objects');
  }
  for (const id of ['modeId', 'modelId', 'authMethodId'] as const) {
    assertIfGiven(`agents.${name}.${id}`, agent[id], ID);
  }
  const approval: unknown = agent.approval ?? 'ask';
  if (approval !== 'ask' && approval !== 'allow') {
    throw new HostOptionError(`agents.${name}.approval`, approval, '"ask" or "allow"');
  }
  if (memoryLimitBytes !== null && !StartAgent.shape.memoryLimitBytes.safeParse(memoryLimitBytes).success) {
    throw new HostOptionError(
      `agents.${name}.memoryLimitBytes`,
      memoryLimitBytes,
      'a whole number of bytes, at least 16777216 (16 MiB)',
    );
  }
  if (startBudgetMs !== null && !StartBudgetMs.safeParse(startBudgetMs).success) {
    throw new HostOptionError(
      `agents.${name}.startBudgetMs`,
      startBudgetMs,
      'whole milliseconds from 1000 to 3600000',
    );
  }
  const history: unknown = agent.history ?? 'preferred';
  if (history !== 'preferred' && history !== 'required' && history !== 'none') {
    throw new HostOptionError(`agents.${name}.history`, history, '"preferred", "required" or "none"');
  }
  const agentId: unknown = agent.agentId ?? name;
  if (typeof agentId !== 'string' || agentId === '') {
    throw new HostOptionError(`agents.${name}.agentId`, agentId, 'a name');
  }
  return {
    ...checkProgram(name, agent),
    agentId,
    history,
    environment,
    mcpServers,
    modeId: agent.modeId ?? null,
    modelId: agent.modelId ?? null,
    authMethodId: agent.authMethodId ?? null,
    approval,
    startBudgetMs,
    memoryLimitBytes,
  };
}

const ID: Accepted<string> = {
  words: 'an id that the agent offers',
  is: (value): value is string => TEXT.is(value) && value !== '',
};

const KNOWN = {
  command: true,
  continuationCommand: true,
  npm: true,
  history: true,
  agentId: true,
  environment: true,
  mcpServers: true,
  modeId: true,
  modelId: true,
  authMethodId: true,
  approval: true,
  startBudgetMs: true,
  memoryLimitBytes: true,
} satisfies Record<keyof ProgramAgentOptions | keyof NpmAgentOptions, true>;

function checkProgram(
  name: string,
  agent: AgentOptions,
): Pick<AgentProfile, 'command' | 'continuationCommand' | 'npm'> {
  const { command, npm } = agent;
  if ((command === undefined) === (npm === undefined)) {
    // The values are not named: an environment has secrets.
    throw new HostOptionError(`agents.${name}`, Object.keys(agent), 'given either "command" or "npm"');
  }
  if (npm !== undefined) {
    const runtime = checkNpm(`agents.${name}.npm`, npm);
    const started = npmRuntimeCommand(runtime.packageSpec, runtime.args, FIRST_PREFERENCE);
    return { command: started, continuationCommand: started, npm: runtime };
  }
  return {
    command: checkCommand(`agents.${name}.command`, command),
    continuationCommand: checkCommand(
      `agents.${name}.continuationCommand`,
      agent.continuationCommand ?? command,
    ),
    npm: null,
  };
}

function checkCommand(option: string, command: unknown): readonly string[] {
  if (isTextList(command) && command.length > 0) return command;
  throw new HostOptionError(option, command, 'a program and its arguments, a list of strings');
}

function checkNpm(option: string, npm: NpmAgentOptions['npm'] | null): NpmRuntime {
  if (typeof npm !== 'object' || npm === null) {
    throw new HostOptionError(option, npm, 'an object with "package" and "version"');
  }
  const { package: name, version, args = [] } = npm;
  if (parsePackageSpec(`${name}@0.0.0`)?.name !== name) {
    throw new HostOptionError(
      `${option}.package`,
      name,
      'the name of a package in a registry, e.g. agent or @acme/agent',
    );
  }
  const packageSpec = `${name}@${version}`;
  if (parsePackageSpec(packageSpec)?.version !== version) {
    throw new HostOptionError(
      `${option}.version`,
      version,
      'one exact version, e.g. 1.2.3: no range and no tag',
    );
  }
  if (!isTextList(args)) throw new HostOptionError(`${option}.args`, args, 'a list of strings');
  return { packageSpec, args };
}

/** Whoever writes JavaScript may give anything. */
function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((part) => typeof part === 'string');
}
