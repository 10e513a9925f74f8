import type { ExecutionRecord, ProcessEvidence, ProcessIdentity } from '@holdfast/executor-contract';
import type { LocalProcesses } from './local-processes.ts';

/** The variable by which a control server marks the agents of an instance, and whatever they start. */
const INSTANCE_MARK = 'HOLDFAST_INSTANCE_ID';

/** Names a process of this machine; null when it is not there or cannot be told from a later one. */
export async function identifyProcess(
  processes: LocalProcesses,
  pid: number,
): Promise<ProcessIdentity | null> {
  const found = await processes.startTime(pid);
  return typeof found === 'string' ? null : { pid, ...found };
}

/**
 * Looks for the agent of a row on this machine, by pid and start time. Where a backend died before it had written those down, by
 * the mark in the agent's environment.
 */
export async function probeProcess(
  processes: LocalProcesses,
  { agentProcess, instanceId }: Pick<ExecutionRecord, 'agentProcess' | 'instanceId'>,
): Promise<ProcessEvidence> {
  return agentProcess === null
    ? await probeByMark(processes, instanceId)
    : await probeByIdentity(processes, agentProcess);
}

async function probeByIdentity(
  processes: LocalProcesses,
  { pid, startTime }: ProcessIdentity,
): Promise<ProcessEvidence> {
  const found = await processes.startTime(pid);
  const agent = `its agent, process ${String(pid)},`;
  if (found === 'unknown') return { process: 'unknown', detail: `whether ${agent} runs cannot be told` };
  if (found === 'ended') return { process: 'ended', detail: `${agent} has ended` };
  return found.startTime === startTime
    ? { process: 'running', detail: `${agent} runs` }
    : { process: 'ended', detail: `${agent} has ended; another process has its pid` };
}

async function probeByMark(processes: LocalProcesses, instanceId: string): Promise<ProcessEvidence> {
  const marked = await processes.startedWith(INSTANCE_MARK, instanceId);
  if (marked === null) return { process: 'unknown', detail: 'its agent was never written down' };
  return marked.length === 0
    ? { process: 'ended', detail: 'no process carries the mark of its instance' }
    : { process: 'running', detail: `processes carry the mark of its instance: ${marked.join(', ')}` };
}
