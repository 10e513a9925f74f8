/**
 * The measured side: `relaying-host.ts HOME`. Says `{"ready": true}`, answers each `Flood` on its stdin with `Relayed`, and
 * stops agent and control server when its stdin ends.
 */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createHost } from '@holdfast/host';
import { standalone } from '@holdfast/executor-standalone';
import type { Relayed } from './relayed.ts';

// A turn is two events beside its updates: its beginning and its end.
const EVENTS_OF_A_TURN = 2;

const [, , home = ''] = process.argv;
const agent = fileURLToPath(new URL('flooding-agent.ts', import.meta.url));
const host = await createHost({
  home,
  survival: 'on',
  runtimes: [standalone()],
  agents: { flooding: { command: [process.execPath, agent] } },
});
const session = await host.sessions.create({
  taskId: 'task',
  agent: 'flooding',
  runtime: 'standalone',
  workspace: { kind: 'local', path: home },
});
tell({ ready: true });

let before = await eventCount();
for await (const flood of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  const turn = await session.prompt(flood);
  const { kind } = await turn.outcome;
  const ms = performance.now() - startedAt;
  if (kind !== 'completed') throw new Error(`the turn ended ${kind}`);
  const after = await eventCount();
  tell({ ms, stored: after - before - EVENTS_OF_A_TURN } satisfies Relayed);
  before = after;
}
await host.close({ agents: 'stop' });

/** How many events of the session are numbered. The end of a turn, the last of them, is told only when it is stored. */
async function eventCount(): Promise<number> {
  return ((await session.instance())?.journal.nextSeq ?? 0) - 1;
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
