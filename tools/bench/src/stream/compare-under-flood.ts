import type { EventStream } from '@holdfast/control-protocol/client';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import type { TestHome } from '@holdfast/testbeds';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';
import { Program } from '../program.ts';
import { startBenchServer, startInstance, type BenchServer } from './bench-server.ts';
import type { FloodOrder } from './flooded-backend.ts';

const FLOODED_BACKEND = new URL('flooded-backend.ts', import.meta.url);
const AGENTS = 8;
const ROUNDS = 100;
const WITHIN_MS = 5 * 60_000;

/** The 99th percentiles of some rounds, in milliseconds. */
interface Latencies {
  readonly cancelMs: number;
  readonly permissionMs: number;
}

/**
 * How long a cancel and the answer to a permission take until what they brought about is delivered: while eight agents of the
 * same control server flood, beside the same while they are not there.
 */
export async function compareUnderFlood(
  home: TestHome,
  { runs, share }: { readonly runs: number; readonly share: number },
): Promise<readonly Comparison[]> {
  await using server = await startBenchServer(await home.folder('home'), 100);
  const folder = await home.folder('workspace');
  const probe = await Probe.start(server, folder);
  const rounds = Math.max(10, Math.round(ROUNDS * share));
  const order: FloodOrder = {
    endpoint: server.endpoint,
    credential: server.credential,
    folder,
    agents: AGENTS,
  };
  const pairs = await alternate(
    runs,
    async () => {
      await using backend = await Program.start(FLOODED_BACKEND, folder);
      backend.tell(order);
      await backend.next(WITHIN_MS);
      const latencies = await probe.measure(rounds);
      backend.tell({ stop: true });
      await backend.next(WITHIN_MS);
      return latencies;
    },
    async () => await probe.measure(rounds),
  );
  await probe.end();
  const compare = (what: string, of: keyof Latencies): Comparison => ({
    name: `flood ${what} p99`,
    unit: 'ms',
    pairs: pairs.map(({ ours, bare }) => ({ ours: ours[of], bare: bare[of] })),
  });
  return [compare('cancel', 'cancelMs'), compare('permission', 'permissionMs')];
}

/** An instance whose agent waits to be cancelled, or for an answer, again and again. */
class Probe {
  readonly #server: BenchServer;
  readonly #instanceId: string;
  readonly #stream: EventStream;
  /** What was delivered and not looked at yet. */
  readonly #waiting: Array<{ readonly type: string; readonly requestId: string }> = [];
  #generation = 0;

  private constructor(server: BenchServer, instanceId: string, stream: EventStream) {
    this.#server = server;
    this.#instanceId = instanceId;
    this.#stream = stream;
  }

  static async start(server: BenchServer, workspacePath: string): Promise<Probe> {
    const { client } = server;
    const instanceId = await startInstance(client, { workspacePath, command: [...scriptedAgentCommand()] });
    return new Probe(server, instanceId, await client.openEvents(instanceId, { after: 0 }));
  }

  async measure(rounds: number): Promise<Latencies> {
    const cancels: number[] = [];
    const permissions: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      cancels.push(await this.#cancel());
      permissions.push(await this.#answer());
    }
    return { cancelMs: percentile99(cancels), permissionMs: percentile99(permissions) };
  }

  async end(): Promise<void> {
    await this.#stream.close();
  }

  /** From the cancel of a turn to the delivery of its end. */
  async #cancel(): Promise<number> {
    const turnId = await this.#prompt(script({ step: 'say', text: 'ready' }, { step: 'silence' }));
    await this.#until('session_update');
    const startedAt = performance.now();
    await this.#server.client.call('cancel', { instanceId: this.#instanceId, turnId });
    await this.#until('turn_ended');
    const ms = performance.now() - startedAt;
    await this.#acknowledge(turnId);
    return ms;
  }

  /** From the answer to a request to the delivery of what the agent says to it. */
  async #answer(): Promise<number> {
    const turnId = await this.#prompt(script({ step: 'permission', title: 'May I?' }));
    const requestId = await this.#until('permission_requested');
    const startedAt = performance.now();
    const answer = { instanceId: this.#instanceId, requestId, optionId: 'allow' };
    await this.#server.client.call('answerPermission', answer);
    await this.#until('session_update');
    const ms = performance.now() - startedAt;
    await this.#until('turn_ended');
    await this.#acknowledge(turnId);
    return ms;
  }

  async #prompt(text: string): Promise<string> {
    this.#generation += 1;
    const { turnId } = await this.#server.client.call('prompt', {
      instanceId: this.#instanceId,
      promptGeneration: this.#generation,
      content: [{ type: 'text', text }],
    });
    return turnId;
  }

  async #acknowledge(turnId: string): Promise<void> {
    await this.#server.client.call('acknowledgeTurn', { instanceId: this.#instanceId, turnId });
  }

  /** Reads on to the next event of a type; gives the id of its request if it has one. */
  async #until(type: string): Promise<string> {
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        if (next.type === type) return next.requestId;
      }
      const { value } = await this.#stream[Symbol.asyncIterator]().next();
      if (value === undefined) throw new Error('the stream of the probe has ended');
      if (value.type !== 'events') continue;
      for (const { seq, event } of value.events) {
        this.#stream.acknowledge(seq);
        const requestId = event.type === 'permission_requested' ? event.permission.requestId : '';
        this.#waiting.push({ type: event.type, requestId });
      }
    }
  }
}

function percentile99(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
}
