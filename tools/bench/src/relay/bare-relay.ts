/**
 * The bare side's middle process: `bare-relay.ts`. Starts an agent for each connection, splits its output into lines, and sends
 * them on over that WebSocket in batches. Says `{"port": …}`; ends with its last connection.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { WebSocketServer, type WebSocket } from 'ws';
import type { BareBatch, BareEvent, BareRequest } from './bare-messages.ts';

const BATCH_EVENTS = 100;
const WINDOW_EVENTS = 1000;

interface Line {
  readonly id?: number;
  readonly params: { readonly update: unknown };
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});
server.on('connection', relay);

function relay(socket: WebSocket): void {
  const agent = spawn(process.execPath, [fileURLToPath(new URL('flooding-agent.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let rest = '';
  let seq = 0;
  let acknowledged = 0;
  let batch: BareEvent[] = [];
  const send = (end: boolean): void => {
    socket.send(JSON.stringify({ events: batch, end } satisfies BareBatch));
    batch = [];
  };

  agent.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- not to check is what makes it the bare side
      const line = JSON.parse(text) as Line;
      if (line.id === undefined) {
        seq += 1;
        const event = { type: 'session_update', update: line.params.update } as const;
        batch.push({ seq, at: new Date().toISOString(), event });
      }
      if (batch.length === BATCH_EVENTS || line.id !== undefined) send(line.id !== undefined);
    }
    if (seq - acknowledged >= WINDOW_EVENTS) agent.stdout.pause();
  });
  socket.on('message', (data: Buffer) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    const message = JSON.parse(data.toString('utf8')) as BareRequest;
    if ('ack' in message) {
      acknowledged = message.ack;
      if (seq - acknowledged < WINDOW_EVENTS) agent.stdout.resume();
      return;
    }
    const prompt = [{ type: 'text', text: message.prompt }];
    agent.stdin.write(`${JSON.stringify({ id: 1, method: 'session/prompt', params: { prompt } })}\n`);
  });
  socket.on('close', () => {
    agent.stdin.end();
    if (server.clients.size === 0) server.close();
  });
}
