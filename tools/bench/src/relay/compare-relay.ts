import type { TestHome } from '@holdfast/testbeds';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';
import { Program } from '../program.ts';
import type { Flood, LoadName } from './loads.ts';
import type { Relayed } from './relayed.ts';

const RELAYING_HOST = new URL('relaying-host.ts', import.meta.url);
const BARE_BACKEND = new URL('bare-backend.ts', import.meta.url);

const WITHIN_MS = 5 * 60_000;

/** Enough of each load for a second or more. */
const EVENTS: Readonly<Record<LoadName, number>> = {
  'message-200B': 20_000,
  'message-4KB': 10_000,
  'tool-1KB': 20_000,
};

/** The output of agents flows through a host and through the bare programs, a flood here and a flood there. */
export async function compareRelay(
  home: TestHome,
  options: {
    readonly load: LoadName;
    /** How many agents share the flood, all writing at the same time. */
    readonly agents: number;
    readonly runs: number;
    readonly share: number;
  },
): Promise<readonly Comparison[]> {
  const { load, agents, runs, share } = options;
  const flood: Flood = { load, count: Math.round((EVENTS[load] * share) / agents) };
  await using host = await start(RELAYING_HOST, await home.folder('home'), agents);
  await using bare = await start(BARE_BACKEND, await home.folder('bare'), agents);
  const pairs = await alternate(
    runs,
    async () => await eventsPerSecond(host, flood, agents),
    async () => await eventsPerSecond(bare, flood, agents),
  );
  await host.end();
  await bare.end();
  return [{ name: `relay-${load}-${String(agents)}`, unit: 'events/s', pairs }];
}

async function start(url: URL, folder: string, agents: number): Promise<Program> {
  const program = await Program.start(url, folder, folder, String(agents));
  try {
    await program.next(WITHIN_MS);
    return program;
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

async function eventsPerSecond(program: Program, flood: Flood, agents: number): Promise<number> {
  program.tell(flood);
  const { ms, stored } = await program.next<Relayed>(WITHIN_MS);
  const count = flood.count * agents;
  if (stored !== count) throw new Error(`${String(stored)} of ${String(count)} events were stored`);
  return (count / ms) * 1000;
}
