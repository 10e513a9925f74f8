/**
 * A backend under load: `flooded-backend.ts`. Told `{endpoint, credential, folder, agents}`, it starts so many agents that flood,
 * reads and acknowledges all they say, and tells `{"flooding": true}`; told anything more, it stops them and tells how much it read.
 */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ControlClient } from '@holdfast/control-protocol/client';
import type { Flood } from '../relay/loads.ts';
import { startInstance } from './bench-server.ts';

/** Where to flood. */
export interface FloodOrder {
  readonly endpoint: string;
  readonly credential: string;
  readonly folder: string;
  readonly agents: number;
}

const AGENT = fileURLToPath(new URL('../relay/flooding-agent.ts', import.meta.url));
const ENDLESS: Flood = { load: 'message-200B', count: 1_000_000_000 };

const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- told by our own program
const order = JSON.parse(String((await orders.next()).value)) as FloodOrder;
const { endpoint, credential, folder, agents } = order;
const client = new ControlClient({ endpoint, credential, timeoutMs: 60_000 });
let read = 0;
const instances = await Promise.all(Array.from({ length: agents }, flood));
tell({ flooding: true });
await orders.next();
for (const { instanceId } of instances) await client.call('deleteInstance', { instanceId });
await Promise.all(instances.map(async ({ over }) => await over));
tell({ read });
process.exit(0);

async function flood(): Promise<{ readonly instanceId: string; readonly over: Promise<void> }> {
  const instanceId = await startInstance(client, {
    workspacePath: folder,
    command: [process.execPath, AGENT],
  });
  const stream = await client.openEvents(instanceId, { after: 0 });
  const content = [{ type: 'text', text: JSON.stringify(ENDLESS) }];
  await client.call('prompt', { instanceId, promptGeneration: 1, content });
  const first = Promise.withResolvers<void>();
  const over = (async () => {
    for await (const delivery of stream) {
      if (delivery.type !== 'events') continue;
      read += delivery.events.length;
      const last = delivery.events.at(-1);
      if (last !== undefined) stream.acknowledge(last.seq);
      first.resolve();
    }
  })();
  await first.promise;
  return { instanceId, over };
}

function tell(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
