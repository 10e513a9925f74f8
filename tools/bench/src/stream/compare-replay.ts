import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { until, type TestHome } from '@holdfast/testbeds';
import { WebSocket } from 'ws';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';
import { Program } from '../program.ts';
import { startBenchServer, startInstance, type BenchServer } from './bench-server.ts';

const BARE_REPLAY = new URL('bare-replay.ts', import.meta.url);
const EVENTS = 1000;
const TURN_EVENTS = 2;
const WITHIN_MS = 60_000;

/** A stream is attached and 1,000 retained events are read: from a control server, and the same frames from a bare one. */
export async function compareReplay(
  home: TestHome,
  { runs }: { readonly runs: number },
): Promise<readonly Comparison[]> {
  await using server = await startBenchServer(await home.folder('home'), EVENTS);
  const instanceId = await retainEvents(server, await home.folder('workspace'));
  const frames = await readFrames(server, instanceId);
  const file = home.path('frames.json');
  await writeFile(file, JSON.stringify(frames));
  await using bare = await Program.start(BARE_REPLAY, home.root, file);
  const { port } = await bare.next<{ readonly port: number }>(WITHIN_MS);
  const pairs = await alternate(
    runs,
    async () => await attach(server, instanceId),
    async () => await attachBare(port),
  );
  await bare.end();
  return [{ name: 'replay-1000', unit: 'ms', pairs }];
}

/** An instance that holds its 1,000 events, of 200 bytes of text each, and goes on holding them. */
async function retainEvents({ client }: BenchServer, workspacePath: string): Promise<string> {
  const instanceId = await startInstance(client, { workspacePath, command: [...scriptedAgentCommand()] });
  const text = script({ step: 'flood', count: EVENTS - TURN_EVENTS, bytes: 200 });
  await client.call('prompt', { instanceId, promptGeneration: 1, content: [{ type: 'text', text }] });
  await until(
    async () => (await client.call('getInstance', { instanceId })).journal.unacknowledged === EVENTS,
    { reason: 'the journal to hold the events', withinMs: WITHIN_MS },
  );
  return instanceId;
}

/** The frames as they come over the wire, all of them. */
async function readFrames({ endpoint, credential }: BenchServer, instanceId: string): Promise<string[]> {
  const url = new URL(`/api/v1/instances/${instanceId}/events?after=0`, endpoint.replace('http', 'ws'));
  const socket = new WebSocket(url, {
    headers: { Authorization: `Bearer ${credential}` },
    perMessageDeflate: false,
  });
  const frames: string[] = [];
  await readUntil(socket, (frame) => {
    frames.push(frame);
    return eventsIn(frame).at(-1)?.seq === EVENTS;
  });
  await closed(socket);
  return frames;
}

async function attach({ client }: BenchServer, instanceId: string): Promise<number> {
  const startedAt = performance.now();
  const stream = await client.openEvents(instanceId, { after: 0 });
  let read = 0;
  for await (const delivery of stream) {
    if (delivery.type === 'events') read += delivery.events.length;
    if (read === EVENTS) break;
  }
  const ms = performance.now() - startedAt;
  await stream.close();
  return ms;
}

async function attachBare(port: number): Promise<number> {
  const startedAt = performance.now();
  const socket = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
  let read = 0;
  await readUntil(socket, (frame) => {
    read += eventsIn(frame).length;
    return read === EVENTS;
  });
  const ms = performance.now() - startedAt;
  await closed(socket);
  return ms;
}

/** Resolves with the frame that is the last one. */
async function readUntil(socket: WebSocket, isLast: (frame: string) => boolean): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.on('message', (data: Buffer) => {
      if (isLast(data.toString('utf8'))) resolve();
    });
  });
}

function eventsIn(frame: string): ReadonlyArray<{ readonly seq: number }> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
  return (JSON.parse(frame) as { readonly events?: ReadonlyArray<{ readonly seq: number }> }).events ?? [];
}

async function closed(socket: WebSocket): Promise<void> {
  const end = once(socket, 'close');
  socket.terminate();
  await end;
}
