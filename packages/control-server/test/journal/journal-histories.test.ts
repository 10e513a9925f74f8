import { describe, expect, it } from '@jest/globals';
import { STREAM_WINDOW_EVENTS, SequencedEvent, type CoveredEvent } from '@holdfast/control-protocol';
import * as fc from 'fast-check';
import { Journal, type JournalReader } from '../../src/journal/journal.ts';
import { JournalModel } from '../support/journal-model.ts';
import { ManualClock } from '../support/manual-clock.ts';

const MAX_BYTES = 2000;
const CODES = { withdrawn: 'publish_withdrawn', stopped: 'journal_stopped' } as const;

const STEPS = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('publish' as const),
      pad: fc.oneof(fc.nat(20), fc.nat(2 * MAX_BYTES)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('withdraw' as const), newest: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('read' as const), bytes: fc.nat(500) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('store' as const), events: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('acknowledge' as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('attach' as const) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('crash' as const) }) },
);
type JournalStep = (typeof STEPS extends fc.Arbitrary<infer Step> ? Step : never) | { readonly does: 'stop' };

/** A reader as a backend is one: what it has read but not stored is gone when it crashes, and it goes on from its store. */
class CrashingReader implements JournalReader {
  readonly #journal: Journal;
  readonly stored: number[] = [];
  #read: number[] = [];
  #attached = false;
  #wasTold = false;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  onAppended(): void {
    this.#wasTold = true;
  }

  onLossy(): boolean {
    return true;
  }

  /** Whether it heard of the last event that was let in; it has heard of those that it reads. */
  get knowsAll(): boolean {
    return !this.#attached || this.#wasTold || this.#cursor === this.#journal.nextSeq - 1;
  }

  get #cursor(): number {
    return this.stored.length + this.#read.length;
  }

  attach(): void {
    this.#read = [];
    this.#journal.acknowledge(this.stored.length);
    this.#wasTold = this.#journal.nextSeq - 1 > this.stored.length;
    this.#attached = true;
    this.#journal.attach(this);
  }

  crash(): void {
    this.#read = [];
    this.#attached = false;
    this.#journal.detach(this);
  }

  read(bytes: number): void {
    if (!this.#attached) return;
    for (const { seq, json } of this.#journal.readAfter(this.#cursor, bytes)) {
      const delivered = SequencedEvent.parse(JSON.parse(json));
      // Neither a gap nor a repetition: it goes on where it stopped.
      expect([seq, delivered.seq]).toEqual([this.#cursor + 1, this.#cursor + 1]);
      this.#read.push(idOf(delivered));
    }
    this.#wasTold = this.#cursor < this.#journal.nextSeq - 1;
  }

  store(events: number): void {
    this.stored.push(...this.#read.splice(0, events));
  }

  acknowledge(): void {
    if (this.#attached) this.#journal.acknowledge(this.stored.length);
  }
}

function idOf({ event }: SequencedEvent): number {
  if (event.type !== 'session_update') throw new Error(`a ${event.type} was never published`);
  return Number(event.update['id']);
}

/** Runs the same steps on the journal and on the model, and compares them after each. */
async function runBoth(
  steps: readonly JournalStep[],
  { detachedLimit, maxBytes }: { readonly detachedLimit: number; readonly maxBytes: number },
): Promise<void> {
  const journal = new Journal({
    clock: new ManualClock(),
    detachedLimit,
    maxBytes,
    onFirstDropped: () => undefined,
  });
  const model = new JournalModel({
    detachedLimit,
    attachedLimit: STREAM_WINDOW_EVENTS,
    maxBytes,
  });
  const reader = new CrashingReader(journal);
  const publishers: Array<{ readonly withdrawal: AbortController; readonly over: Promise<unknown> }> = [];
  const publish = (pad: number): void => {
    const event: CoveredEvent = {
      type: 'session_update',
      update: { id: publishers.length, pad: 'ü'.repeat(pad / 2) },
    };
    const withdrawal = new AbortController();
    const over = journal.publish(event, { signal: withdrawal.signal });
    publishers.push({ withdrawal, over: over.catch((error: unknown) => error) });
    model.hand(Buffer.byteLength(JSON.stringify(event)));
  };
  const take = (step: JournalStep): void => {
    switch (step.does) {
      case 'publish':
        publish(step.pad);
        return;
      case 'withdraw': {
        const event = publishers.length - 1 - step.newest;
        publishers[event]?.withdrawal.abort();
        model.withdraw(event);
        return;
      }
      case 'read':
        reader.read(step.bytes);
        return;
      case 'store':
        reader.store(step.events);
        return;
      case 'acknowledge':
        reader.acknowledge();
        if (model.isAttached) model.acknowledge(reader.stored.length);
        return;
      case 'attach':
        reader.attach();
        model.acknowledge(reader.stored.length);
        model.attached(true);
        return;
      case 'crash':
        reader.crash();
        model.attached(false);
        return;
      case 'stop':
        journal.stop();
        model.stop();
    }
  };

  for (const step of steps) {
    const before = journal.unacknowledged;
    take(step);
    expect(journal.unacknowledged).toBe(model.inside.length);
    expect(journal.readAfter(0, Infinity).map(({ seq }) => seq)).toEqual(model.inside);
    expect(journal.nextSeq).toBe(model.admitted.length + 1);
    expect(journal.paused).toBe(model.waiting > 0);
    // What is inside already may be above the limit of a reader that is gone, but it does not grow there.
    expect(journal.unacknowledged).toBeLessThanOrEqual(Math.max(model.limit, before));
    expect(reader.knowsAll).toBe(true);
  }
  // A reader that stays gets everything that was let in, or is let in meanwhile.
  const isStopped = steps.some(({ does }) => does === 'stop');
  if (!isStopped) {
    take({ does: 'attach' });
    for (let left = publishers.length; left > 0 && journal.unacknowledged > 0; left -= 1) {
      take({ does: 'read', bytes: 0 });
      take({ does: 'store', events: 1 });
      take({ does: 'acknowledge' });
    }
  }
  expect(reader.stored).toEqual(isStopped ? model.admitted.slice(0, reader.stored.length) : model.admitted);
  take({ does: 'stop' });
  for (const [event, { over }] of publishers.entries()) {
    const fate = model.fates[event];
    const expected =
      fate === 'withdrawn' || fate === 'stopped'
        ? { code: CODES[fate] }
        : { seq: model.admitted.indexOf(event) + 1 };
    expect(await over).toMatchObject(expected);
  }
}

describe('every history of a journal', () => {
  it('keeps the order, loses nothing, delivers nothing twice and stays within its limits [SURVIVAL-001.5] [SURVIVAL-001.10] [CONTRACT-12]', async () => {
    const histories = fc.tuple(
      fc.array(STEPS, { maxLength: 120, size: 'max' }),
      fc.option(fc.array(STEPS, { maxLength: 10 })),
      fc.integer({ min: 1, max: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(histories, async ([steps, afterStop, detachedLimit]) => {
        await runBoth([...steps, ...(afterStop === null ? [] : [{ does: 'stop' } as const, ...afterStop])], {
          detachedLimit,
          maxBytes: MAX_BYTES,
        });
      }),
      { numRuns: 150 },
    );
  });

  it('is bounded by the window while somebody reads, and by the limit again when nobody does', async () => {
    const publish = { does: 'publish', pad: 0 } as const;
    const many = Array.from({ length: STREAM_WINDOW_EVENTS + 20 }, () => publish);
    await fc.assert(
      fc.asyncProperty(
        fc.array(STEPS, { maxLength: 20 }),
        fc.integer({ min: 1, max: 8 }),
        async (steps, detachedLimit) => {
          await runBoth([{ does: 'attach' }, ...many, { does: 'crash' }, ...steps], {
            detachedLimit,
            maxBytes: 1_000_000,
          });
        },
      ),
      { numRuns: 3 },
    );
  });
});
