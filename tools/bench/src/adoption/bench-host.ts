import { createHost, type Host } from '@holdfast/host';
import { standalone } from '@holdfast/executor-standalone';
import { idleAgentCommand } from '@holdfast/scripted-agent';

/** A host on this home as all programs of this benchmark have it. */
export async function openBenchHost(home: string): Promise<Host> {
  return await createHost({
    home,
    survival: 'on',
    runtimes: [standalone()],
    // Small, so that five hundred of them leave the machine to what is measured.
    agents: { idle: { command: idleAgentCommand() } },
  });
}
