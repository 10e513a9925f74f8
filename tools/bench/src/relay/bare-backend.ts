/**
 * The bare side's backend: `bare-backend.ts FOLDER AGENTS`. Starts the bare relay, stores what it sends of each agent and acknowledges it. Says
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

const [, , folder = '', agents = '1'] = process.argv;
const table = new BareEventsTable(join(folder, 'bare.db'));
const relay = spawn(process.execPath, [fileURLToPath(new URL('bare-relay.ts', import.meta.url))], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const announcement: unknown[] = await once(createInterface({ input: relay.stdout }), 'line');
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the first line of our own program
const { port } = JSON.parse(String(announcement[0])) as { port: number };

/** The connection of one agent. */
interface Link {
  readonly socket: WebSocket;
  stored: number;
  ended: PromiseWithResolvers<void>;
}

const links: Link[] = [];
for (let number = 1; number <= Number(agents); number += 1) {
  const socket = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
  await once(socket, 'open');
  const link: Link = { socket, stored: 0, ended: Promise.withResolvers() };
  socket.on('message', (data: Buffer) => {
    store(`agent-${String(number)}`, link, data);
  });
  links.push(link);
}
tell({ ready: true });

for await (const flood of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  for (const link of links) {
    link.stored = 0;
    link.ended = Promise.withResolvers();
    send(link, { prompt: flood });
  }
  await Promise.all(links.map(async ({ ended }) => await ended.promise));
  const stored = links.reduce((sum, link) => sum + link.stored, 0);
  tell({ ms: performance.now() - startedAt, stored } satisfies Relayed);
}
for (const { socket } of links) socket.close();
await once(relay, 'close');
table.close();

function store(agent: string, link: Link, data: Buffer): void {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
  const { events, end } = JSON.parse(data.toString('utf8')) as BareBatch;
  const last = events.at(-1);
  if (last !== undefined) {
    table.insert(agent, events);
    link.stored += events.length;
    send(link, { ack: last.seq });
  }
  if (end) link.ended.resolve();
}

function send({ socket }: Link, message: BareRequest): void {
  socket.send(JSON.stringify(message));
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
