import { z } from 'zod';
import { AgentExit } from '../errors/control-error.ts';
import { JsonObject } from '../identifiers/json-object.ts';
import { npmPreferenceOf } from '../npm-runtime/command.ts';
import { PackageSpec } from '../npm-runtime/package-spec.ts';
import { InstanceParams } from './instances.ts';
import { operation } from './operation.ts';
import { SessionChoice } from './session.ts';

/** How long the start of an agent may take: a second to an hour, in milliseconds. */
export const StartBudgetMs = z.int().min(1000).max(3_600_000);

const StartFields = z.strictObject({
  /** Program and arguments; run without a shell, in the workspace unless `npmRuntime` is given. */
  command: z.array(z.string().refine((part) => !part.includes('\0'), 'must not contain NUL')).min(1),
  session: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('new') }),
    /** Goes on with a conversation: resumed where the agent offers that, else loaded. Its history is no new output. */
    z.strictObject({ kind: z.literal('load'), providerSessionId: z.string().min(1) }),
  ]),
  /** MCP servers in ACP's own shape, handed on as they are. */
  mcpServers: z.array(JsonObject),
  modeId: z.string().min(1).optional(),
  modelId: z.string().min(1).optional(),
  authMethodId: z.string().min(1).optional(),
  /** What was chosen for the session before, set again in this order after mode and model; the start fails where one is refused. */
  choices: z.array(SessionChoice).max(256).optional(),
  /** The agent is ended when it and all it started hold more memory than this, in bytes; no limit when left out. */
  memoryLimitBytes: z
    .int()
    .min(16 * 1024 * 1024)
    .optional(),
  /** `ask` waits for the backend, `allow` answers the agent's requests at once with its first `allow_*` option. */
  approval: z.enum(['ask', 'allow']),
  /** From the start of the program to the open session. The server has limits of its own for an agent without one. */
  startBudgetMs: StartBudgetMs.optional(),
  /**
   * The agent is this package, run by npm: the command is that of `npmRuntimeCommand`. The program is started outside the
   * workspace, so that no project's npm settings have a say; the provider session works in the workspace all the same.
   */
  npmRuntime: z.strictObject({ packageSpec: PackageSpec }).optional(),
});

/** How to start an agent and open its provider session. */
export const StartAgent = StartFields.superRefine(({ command, npmRuntime }, context) => {
  if (npmRuntime === undefined) return;
  if (npmPreferenceOf(command, npmRuntime.packageSpec) !== undefined) return;
  context.addIssue({
    code: 'custom',
    path: ['command'],
    message: `must start with npx, --yes, --prefer-offline or --prefer-online, and ${npmRuntime.packageSpec}, as npmRuntime names it`,
  });
});
export type StartAgent = z.infer<typeof StartAgent>;

/** An agent that has answered `initialize` and whose provider session is open. */
export const StartedAgent = z.object({
  agentPid: z.int().positive(),
  agent: z.object({
    name: z.string().nullable(),
    version: z.string().nullable(),
    protocolVersion: z.int(),
    /** The agent's own capabilities object, untouched. */
    capabilities: JsonObject,
  }),
  session: z.object({
    providerSessionId: z.string(),
    /** The agent's own `modes`, `models` and `configOptions`, untouched; null where it gave none. */
    modes: JsonObject.nullable(),
    models: JsonObject.nullable(),
    configOptions: z.array(JsonObject).nullable(),
  }),
});
export type StartedAgent = z.infer<typeof StartedAgent>;

/** What a repair did. Names no path: the key is the name of the copy's directory within npm's cache. */
export const RepairedRuntime = z.object({
  /** Whether there was a copy to remove. */
  removed: z.boolean(),
  executionKey: z.string().regex(/^[0-9a-f]{16}$/),
});
export type RepairedRuntime = z.infer<typeof RepairedRuntime>;

export const agentOperations = {
  startAgent: operation({
    summary: 'Starts the agent; answers once ACP is initialised and the provider session is open.',
    method: 'POST',
    path: '/instances/{instanceId}/agent/start',
    access: 'driver',
    params: InstanceParams,
    request: StartAgent,
    response: StartedAgent,
    errors: [
      'instance_not_found',
      'agent_already_running',
      'agent_start_failed',
      'agent_protocol_error',
      'agent_timeout',
      'shutting_down',
    ],
  }),
  stopAgent: operation({
    summary: 'Stops the agent and all that it started; the instance stays.',
    method: 'POST',
    path: '/instances/{instanceId}/agent/stop',
    access: 'driver',
    params: InstanceParams,
    response: z.object({ exit: AgentExit }),
    errors: ['instance_not_found', 'agent_not_running'],
  }),
  repairRuntime: operation({
    summary:
      'Removes npm’s installed copy of one exact package, and nothing else; the agent must be stopped.',
    method: 'POST',
    path: '/instances/{instanceId}/agent/repair-runtime',
    access: 'driver',
    params: InstanceParams,
    // Which specs are accepted is the server’s to say, with a code of its own.
    request: z.strictObject({ packageSpec: z.string() }),
    response: RepairedRuntime,
    errors: [
      'instance_not_found',
      'agent_already_running',
      'agent_not_running',
      'invalid_package_spec',
      'runtime_in_use',
      'unsafe_cache_root',
      'npm_unavailable',
      'shutting_down',
    ],
  }),
  getAgentStderr: operation({
    summary: 'Reads the last 200 lines, at most 64 KiB, of the agent’s stderr.',
    method: 'GET',
    path: '/instances/{instanceId}/agent/stderr',
    access: 'driver',
    params: InstanceParams,
    response: z.object({ lines: z.array(z.string()), truncated: z.boolean() }),
    errors: ['instance_not_found'],
    noStore: true,
  }),
};
