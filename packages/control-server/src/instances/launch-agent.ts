import { npmPreferenceOf, type CreateInstance, type StartAgent } from '@holdfast/control-protocol';
import { agentEnvironment } from '../agent/agent-environment.ts';
import type { AgentOptions } from '../agent/agent.ts';
import type { ProgramPlace } from '../npm-runtime/npm-runtimes.ts';
import { attemptStart, type ReadyAgent } from './start-agent.ts';
import { attemptNpmStart } from './start-npm-agent.ts';
import type { InstanceSurroundings } from './surroundings.ts';

/** Whose agent it is. */
export interface AgentOwner {
  readonly surroundings: InstanceSurroundings;
  readonly instanceId: string;
  readonly created: Pick<CreateInstance, 'workspacePath' | 'environment'>;
}

/** Makes one attempt to start an agent: in the workspace, or where npm runs. See `attemptStart` for how that fails. */
export async function launchAgent(
  owner: AgentOwner,
  start: StartAgent,
  attempt: Pick<AgentOptions, 'stderr' | 'listener'> & { readonly signal: AbortSignal },
): Promise<ReadyAgent> {
  const { surroundings, instanceId, created } = owner;
  const { clock, log, serverId, startBudgets, stopGraceMs } = surroundings;
  const { stderr, listener, signal } = attempt;
  const cwd = created.workspacePath;
  const environment = environmentOf(owner);
  const run = async (program: ProgramPlace): Promise<ReadyAgent> =>
    await attemptStart(
      {
        clock,
        log,
        cwd,
        programCwd: program.cwd,
        environment: program.environment,
        serverId,
        instanceId,
        stderr,
        listener,
        stopGraceMs,
      },
      start,
      { budgets: startBudgets, signal },
    );
  if (start.npmRuntime === undefined) return await run({ cwd, environment });
  const { packageSpec } = start.npmRuntime;
  const preference = npmPreferenceOf(start.command, packageSpec);
  if (preference === undefined) throw new TypeError(`the command is not one that runs ${packageSpec}`);
  return await attemptNpmStart(
    surroundings,
    { instanceId, packageSpec, environment, preference, signal, stderr },
    run,
  );
}

/** The environment of an instance's agents. */
export function environmentOf({ surroundings, instanceId, created }: AgentOwner): Record<string, string> {
  const { baseEnvironment, serverId } = surroundings;
  return agentEnvironment({ base: baseEnvironment, own: created.environment, serverId, instanceId });
}
