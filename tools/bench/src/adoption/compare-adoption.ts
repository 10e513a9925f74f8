import type { TestHome } from '@holdfast/testbeds';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';
import { Program } from '../program.ts';
import type { AdoptionTimes } from './adoption-times.ts';
import { openBenchHost } from './bench-host.ts';

const FIRST_HOST = new URL('first-host.ts', import.meta.url);
const ADOPTING_HOST = new URL('adopting-host.ts', import.meta.url);
const BARE_ADOPTION = new URL('bare-adoption.ts', import.meta.url);

const START_WITHIN_MS = 10 * 60_000;
const ADOPT_WITHIN_MS = 60_000;

/**
 * A living control server with so many idle agents is taken over again and again, by a host and by the bare program, each
 * time by a fresh process that is killed once it has told its times.
 */
export async function compareAdoption(
  home: TestHome,
  { instances, runs }: { readonly instances: number; readonly runs: number },
): Promise<readonly Comparison[]> {
  const folder = await home.folder('home');
  try {
    await startAgents(folder, instances);
    const measure = async (program: URL): Promise<AdoptionTimes> => await adopt(program, folder, instances);
    const pairs = await alternate(
      runs,
      async () => await measure(ADOPTING_HOST),
      async () => await measure(BARE_ADOPTION),
    );
    const compare = (what: string, of: 'recoveryMs' | 'wholeMs'): Comparison => ({
      name: `adoption-${String(instances)} ${what}`,
      unit: 'ms',
      pairs: pairs.map(({ ours, bare }) => ({ ours: ours[of], bare: bare[of] })),
    });
    return [compare('recovery', 'recoveryMs'), compare('whole start', 'wholeMs')];
  } finally {
    // The last to adopt ends the control server with all its agents.
    await (await openBenchHost(folder)).close({ agents: 'stop' });
  }
}

async function startAgents(folder: string, instances: number): Promise<void> {
  await using first = await Program.start(FIRST_HOST, folder, folder, String(instances));
  await first.next(START_WITHIN_MS);
  await first.crash();
}

async function adopt(url: URL, folder: string, instances: number): Promise<AdoptionTimes> {
  await using program = await Program.start(url, folder, folder);
  const times = await program.next<AdoptionTimes>(ADOPT_WITHIN_MS);
  await program.crash();
  if (times.instances !== instances) {
    throw new Error(`${String(times.instances)} of ${String(instances)} instances were taken over`);
  }
  return times;
}
