/**
 * The bare side's backend: `bare-backend.ts FOLDER`. Starts the bare relay, stores what it sends and acknowledges it. Says
 * `{"ready": true}`, answers each `Flood` on its stdin with `Relayed`, and ends when its stdin ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { BareEventsTable } from './bare-events-table.ts';
import type { BareBatch, BareRequest } from './bare-messages.ts';
import type { Relayed } from './relayed.ts';

const [, , folder = ''] = process.argv;
const table = new BareEventsTable(join(folder, 'bare.db'));
const relay = spawn(process.execPath, [fileURLToPath(new URL('bare-relay.ts', import.meta.url))], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const announcement: unknown[] = await once(createInterface({ input: relay.stdout }), 'line');
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the first line of our own program
const { port } = JSON.parse(String(announcement[0])) as { port: number };
const socket = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
await once(socket, 'open');

let stored = 0;
let ended = Promise.withResolvers<void>();
socket.on('message', (data: Buffer) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
  const { events, end } = JSON.parse(data.toString('utf8')) as BareBatch;
  const last = events.at(-1);
  if (last !== undefined) {
    table.insert(events);
    stored += events.length;
    send({ ack: last.seq });
  }
  if (end) ended.resolve();
});
tell({ ready: true });

for await (const flood of createInterface({ input: process.stdin })) {
  stored = 0;
  ended = Promise.withResolvers();
  const startedAt = performance.now();
  send({ prompt: flood });
  await ended.promise;
  tell({ ms: performance.now() - startedAt, stored } satisfies Relayed);
}
socket.close();
await once(relay, 'close');
table.close();

function send(message: BareRequest): void {
  socket.send(JSON.stringify(message));
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
