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

/** The output of one agent flows through a host and through the bare programs, a flood here and a flood there. */
export async function compareRelay(
  home: TestHome,
  { load, runs, share }: { readonly load: LoadName; readonly runs: number; readonly share: number },
): Promise<readonly Comparison[]> {
  const flood: Flood = { load, count: Math.round(EVENTS[load] * share) };
  await using host = await start(RELAYING_HOST, await home.folder('home'));
  await using bare = await start(BARE_BACKEND, await home.folder('bare'));
  const pairs = await alternate(
    runs,
    async () => await eventsPerSecond(host, flood),
    async () => await eventsPerSecond(bare, flood),
  );
  await host.end();
  await bare.end();
  return [{ name: `relay-${load}`, unit: 'events/s', pairs }];
}

async function start(url: URL, folder: string): Promise<Program> {
  const program = await Program.start(url, folder, folder);
  try {
    await program.next(WITHIN_MS);
    return program;
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

async function eventsPerSecond(program: Program, flood: Flood): Promise<number> {
  program.tell(flood);
  const { ms, stored } = await program.next<Relayed>(WITHIN_MS);
  if (stored !== flood.count) {
    throw new Error(`${String(stored)} of ${String(flood.count)} events were stored`);
  }
  return (flood.count / ms) * 1000;
}
