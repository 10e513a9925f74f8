import { AgentExit, ControlError, npmFailureAdvice } from '@holdfast/control-protocol';
import type { StderrTail } from '../agent/stderr-tail.ts';
import { classifyNpmFailure } from '../npm-runtime/classify-npm-failure.ts';
import { executionKey } from '../npm-runtime/execution-key.ts';
import type { ProgramPlace, RuntimeStart } from '../npm-runtime/npm-runtimes.ts';
import type { ReadyAgent } from './start-agent.ts';
import { startFailure } from './start-failure.ts';
import type { InstanceSurroundings } from './surroundings.ts';

/** An attempt to start an agent that npm runs; when it fails, the details of the error say of what npm failed. */
export async function attemptNpmStart(
  { npmRuntimes, log }: Pick<InstanceSurroundings, 'npmRuntimes' | 'log'>,
  request: RuntimeStart & { readonly stderr: StderrTail },
  attempt: (place: ProgramPlace) => Promise<ReadyAgent>,
): Promise<ReadyAgent> {
  try {
    return await npmRuntimes.start(request, attempt);
  } catch (error) {
    const failure = error instanceof ControlError ? error : startFailure(error, 'spawn', null);
    // One that took too long is stopped and has no class, but npm may be what it waited for.
    if (failure.code !== 'agent_start_failed' && failure.code !== 'agent_timeout') throw failure;
    const { instanceId, packageSpec, stderr } = request;
    const key = executionKey(packageSpec);
    const { phase } = failure.details ?? {};
    const exit = AgentExit.safeParse(failure.details?.['exit']);
    const stderrClass = classifyNpmFailure({
      spec: packageSpec,
      stderr: stderr.read().lines,
      exit: exit.success ? exit.data : null,
      initialized: phase !== 'spawn' && phase !== 'initialize',
    });
    log.info({ instanceId, executionKey: key, stderrClass }, 'an agent that npm runs did not start');
    throw new ControlError(failure.code, failure.message, {
      exit: null,
      ...failure.details,
      stderrClass,
      advice: npmFailureAdvice(stderrClass, key),
    });
  }
}
