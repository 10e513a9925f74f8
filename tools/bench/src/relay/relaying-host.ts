/**
 * The measured side: `relaying-host.ts HOME AGENTS`. Says `{"ready": true}`, lets every agent answer each `Flood` on its stdin at the
 * same time and answers with `Relayed`, and stops agents and control server when its stdin ends.
 */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createHost, type Session } from '@holdfast/host';
import { standalone } from '@holdfast/executor-standalone';
import type { Relayed } from './relayed.ts';

// A turn is two events beside its updates: its beginning and its end.
const EVENTS_OF_A_TURN = 2;

const [, , home = '', agents = '1'] = process.argv;
const agent = fileURLToPath(new URL('flooding-agent.ts', import.meta.url));
const host = await createHost({
  home,
  survival: 'on',
  runtimes: [standalone()],
  agents: { flooding: { command: [process.execPath, agent] } },
});
const sessions: Session[] = [];
for (let number = 1; number <= Number(agents); number += 1) {
  const session = await host.sessions.create({
    taskId: `task-${String(number)}`,
    agent: 'flooding',
    runtime: 'standalone',
    workspace: { kind: 'local', path: home },
  });
  sessions.push(session);
}
tell({ ready: true });

let before = await eventCount();
for await (const flood of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  const kinds = await Promise.all(
    sessions.map(async (session) => (await (await session.prompt(flood)).outcome).kind),
  );
  const ms = performance.now() - startedAt;
  const failed = kinds.find((kind) => kind !== 'completed');
  if (failed !== undefined) throw new Error(`a turn ended ${failed}`);
  const after = await eventCount();
  tell({ ms, stored: after - before - EVENTS_OF_A_TURN * sessions.length } satisfies Relayed);
  before = after;
}
await host.close({ agents: 'stop' });

/** How many events of all sessions are numbered. The end of a turn, the last of them, is told only when it is stored. */
async function eventCount(): Promise<number> {
  const counts = await Promise.all(
    sessions.map(async (session) => ((await session.instance())?.journal.nextSeq ?? 0) - 1),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
