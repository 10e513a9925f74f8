/**
 * A tiny ACP agent that answers a prompt with a flood, as fast as it is read: the prompt's text is a `Flood` in JSON. Both
 * sides of the benchmark read this very program.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { floodLine, type Flood } from './loads.ts';

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly prompt: ReadonlyArray<{ readonly text: string }> };
}

const SESSION_ID = 'flood';
// Many lines in one write, so that the agent is not what is measured.
const LINES_PER_WRITE = 50;

for await (const line of createInterface({ input: process.stdin })) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an agent of the benchmark, for its own clients
  const { id, method, params } = JSON.parse(line) as Request;
  if (method === 'initialize') answer(id, { protocolVersion: 1, agentCapabilities: {} });
  if (method === 'session/new') answer(id, { sessionId: SESSION_ID });
  if (method === 'session/prompt') {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    await flood(JSON.parse(params.prompt[0]?.text ?? '') as Flood);
    answer(id, { stopReason: 'end_turn' });
  }
}

function answer(id: number | undefined, result: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}

async function flood({ load, count }: Flood): Promise<void> {
  const line = floodLine(SESSION_ID, load);
  for (let left = count; left > 0; left -= LINES_PER_WRITE) {
    const block = line.repeat(Math.min(left, LINES_PER_WRITE));
    if (!process.stdout.write(block)) await once(process.stdout, 'drain');
  }
}
