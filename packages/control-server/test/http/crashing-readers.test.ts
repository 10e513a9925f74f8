import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { BASE_PATH, StreamMessage, type SequencedEvent } from '@holdfast/control-protocol';
import { until } from '@holdfast/testbeds';
import * as fc from 'fast-check';
import { WebSocket } from 'ws';
import { InstanceOf, SETTINGS, ownedServer, textsOf, type OwnedServer } from '../support/owned-server.ts';

/** One life of a reader: how many messages it reads, of how many of those it stores the events, whether it acknowledges. */
interface Life {
  readonly messages: number;
  readonly stores: number;
  readonly acknowledges: boolean;
  /** Whether it is replaced by the next one instead of crashing first. */
  readonly isReplaced: boolean;
}

const LIVES = fc.record({
  messages: fc.nat(12),
  stores: fc.nat(12),
  acknowledges: fc.boolean(),
  isReplaced: fc.boolean(),
});

/** What a backend that crashes again and again has stored durably, of one instance. */
class Store {
  readonly events: SequencedEvent[] = [];
  readonly #endpoint: URL;
  readonly #credential: string;
  #replaced: WebSocket | undefined;

  constructor({ server, credential }: OwnedServer, instanceId: string) {
    this.#endpoint = new URL(`${BASE_PATH}/instances/${instanceId}/events`, server.endpoint);
    this.#endpoint.protocol = 'ws:';
    this.#credential = credential;
  }

  get hasEnd(): boolean {
    return this.events.at(-1)?.event.type === 'turn_ended';
  }

  /** Attaches behind what is stored, lives, and goes without a word. */
  async live({ messages, stores, acknowledges, isReplaced }: Life): Promise<void> {
    this.#endpoint.searchParams.set('after', String(this.events.length));
    const socket = new WebSocket(this.#endpoint, {
      headers: { Authorization: `Bearer ${this.#credential}` },
    });
    const closed = once(socket, 'close');
    const inbox: SequencedEvent[] = [];
    let received = 0;
    const enough = Promise.withResolvers<void>();
    socket.on('message', (data: Buffer) => {
      const message = StreamMessage.parse(JSON.parse(data.toString('utf8')));
      if (received > messages) return;
      received += 1;
      if (message.type === 'attached') {
        expect(message.replayFrom).toBe(this.events.length + 1);
      } else if (message.type === 'events') {
        inbox.push(...message.events);
      }
      const isOver = inbox.some(({ event }) => event.type === 'turn_ended');
      if (received > messages || isOver) enough.resolve();
      // Storing lags behind reading, and acknowledging behind storing.
      if (inbox.length > 0 && received <= stores) {
        this.events.push(...inbox.splice(0));
        if (acknowledges) socket.send(JSON.stringify({ type: 'ack', seq: this.events.length }));
      }
    });
    await Promise.race([enough.promise, closed, quietFor(socket, 300)]);
    socket.removeAllListeners('message');
    this.#replaced?.terminate();
    this.#replaced = isReplaced ? socket : undefined;
    if (isReplaced) return;
    socket.terminate();
    await closed;
  }

  end(): void {
    this.#replaced?.terminate();
  }
}

/**
 * Resolves when nothing has come for a while after something did: the window is full, and this reader acknowledges nothing. Before
 * that there may not even be a connection.
 */
async function quietFor(socket: WebSocket, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    socket.on('message', () => {
      clearTimeout(timer);
      timer = setTimeout(resolve, ms);
    });
    socket.once('close', () => {
      clearTimeout(timer);
    });
  });
}

const COUNT = 3000;
const INSTANCES = 2;

describe('readers that crash at random while agents flood', () => {
  it('get every event of each instance exactly once, in order [SURVIVAL-001.5] [SURVIVAL-001.6] [BEYOND-02]', async () => {
    const histories = fc.array(fc.array(LIVES, { minLength: 5, maxLength: 30, size: 'max' }), {
      minLength: INSTANCES,
      maxLength: INSTANCES,
    });
    await fc.assert(
      fc.asyncProperty(histories, fc.integer({ min: 1, max: 50 }), async (lives, detachedEventLimit) => {
        await using owned = await ownedServer({ settings: { ...SETTINGS, detachedEventLimit } });
        await Promise.all(
          lives.map(async (ofOne) => {
            const instance = await InstanceOf.create(owned);
            await instance.start();
            const turnId = await instance.prompt(1, { step: 'flood', count: COUNT, bytes: 300 });
            const store = new Store(owned, instance.instanceId);
            for (const life of ofOne) await store.live(life);
            await until(
              async () => {
                await store.live({ messages: 50, stores: 50, acknowledges: true, isReplaced: false });
                return store.hasEnd;
              },
              { reason: 'a reader to get the end', withinMs: 200_000 },
            );
            store.end();
            expect(store.events.map(({ seq }) => seq)).toEqual(
              Array.from({ length: COUNT + 2 }, (_, index) => index + 1),
            );
            expect(textsOf(store.events).map((text) => text.replace(/\.*$/, ''))).toEqual(
              Array.from({ length: COUNT }, (_, index) => `flood ${String(index + 1)}/${String(COUNT)}`),
            );
            expect(store.events[0]?.event).toMatchObject({ type: 'turn_started', turnId });
            expect(store.events.at(-1)?.event).toMatchObject({ type: 'turn_ended', turnId });
          }),
        );
      }),
      { numRuns: 4, endOnFailure: true },
    );
  });
});
