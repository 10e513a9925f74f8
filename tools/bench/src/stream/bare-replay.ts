/** The bare side of a replay: `bare-replay.ts FRAMES`. Sends the frames of that file to whoever connects; ends with its stdin. */
import { readFile } from 'node:fs/promises';
import { WebSocketServer } from 'ws';

const [, , file = ''] = process.argv;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a file of our own
const frames = JSON.parse(await readFile(file, 'utf8')) as string[];
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false }, () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});
server.on('connection', (socket) => {
  for (const frame of frames) socket.send(frame);
});
process.stdin.resume().once('end', () => {
  server.close();
  for (const socket of server.clients) socket.terminate();
});
