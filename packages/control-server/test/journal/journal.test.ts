import { describe, expect, it } from '@jest/globals';
import {
  EVENT_RETENTION,
  InstanceEvent,
  SequencedEvent,
  type CoveredEvent,
} from '@holdfast/control-protocol';
import { MAX_UNACKNOWLEDGED_BYTES, hasRoom } from '../../src/journal/capacity.ts';
import { Journal, type JournalOptions, type JournalReader } from '../../src/journal/journal.ts';
import { COVERED_SAMPLES, EXCLUDED_SAMPLES } from '../support/event-samples.ts';
import { ManualClock } from '../support/manual-clock.ts';

const READER: JournalReader = { onAppended: () => undefined, onLossy: () => true };
const journalWith = (options: Partial<JournalOptions>): Journal =>
  new Journal({
    clock: new ManualClock(),
    detachedLimit: 1,
    maxBytes: MAX_UNACKNOWLEDGED_BYTES,
    onFirstDropped: () => undefined,
    ...options,
  });
const journalOf = (detachedLimit: number): Journal => journalWith({ detachedLimit });
const update = (n: number): CoveredEvent => ({ type: 'session_update', update: { n } });
const settled = async (promise: Promise<unknown>): Promise<boolean> =>
  await Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    new Promise<false>((resolve) => {
      setImmediate(resolve, false);
    }),
  ]);

describe('the journal', () => {
  it('has a sample for exactly the covered classes', () => {
    const covered = Object.entries(EVENT_RETENTION).filter(([, retention]) => retention === 'covered');
    expect(Object.keys(COVERED_SAMPLES).toSorted()).toEqual(covered.map(([type]) => type).toSorted());
  });

  describe.each(Object.values(COVERED_SAMPLES))('an event of class $type', (sample) => {
    it('waits at the limit while detached and is kept at attach [SURVIVAL-001.6] [CONTRACT-12]', async () => {
      const journal = journalOf(1);
      await journal.publish(update(1));
      const publishing = journal.publish(sample);
      expect(await settled(publishing)).toBe(false);
      expect(journal.paused).toBe(true);
      journal.attach(READER);
      expect(await publishing).toMatchObject({ seq: 2 });
      const [, entry] = journal.readAfter(0, 10_000);
      const delivered = SequencedEvent.parse(JSON.parse(entry?.json ?? ''));
      expect(delivered).toEqual({
        seq: 2,
        at: '2026-01-01T00:00:00.000Z',
        event: InstanceEvent.parse(sample),
      });
    });

    it('is let go at once when the instance stops [SURVIVAL-001.10] [CONTRACT-12]', async () => {
      const journal = journalOf(1);
      await journal.publish(update(1));
      const waiting = journal.publish(sample);
      journal.stop();
      await expect(waiting).rejects.toMatchObject({ code: 'journal_stopped' });
      await expect(journal.publish(sample)).rejects.toMatchObject({ code: 'journal_stopped' });
      expect(journal.unacknowledged).toBe(0);
    });
  });

  it('lets a waiting publisher take its event back', async () => {
    const journal = journalOf(1);
    await journal.publish(update(1));
    const change = new AbortController();
    const taken = new AbortController();
    taken.abort();
    await expect(journal.publish(update(0), { signal: taken.signal })).rejects.toMatchObject({
      code: 'publish_withdrawn',
    });
    const withdrawn = journal.publish(update(2), { signal: change.signal });
    const behind = journal.publish(update(3));
    change.abort();
    await expect(withdrawn).rejects.toMatchObject({ code: 'publish_withdrawn' });
    journal.acknowledge(1);
    expect(await behind).toMatchObject({ seq: 2 });
  });

  it('lets in who waited behind a large event when that is taken back', async () => {
    const journal = journalWith({ detachedLimit: 10, maxBytes: 100 });
    await journal.publish(update(1));
    const change = new AbortController();
    const large: CoveredEvent = { type: 'session_update', update: { text: 'x'.repeat(200) } };
    const withdrawn = journal.publish(large, { signal: change.signal });
    const small = journal.publish(update(2));
    expect(await settled(small)).toBe(false);
    change.abort();
    await expect(withdrawn).rejects.toMatchObject({ code: 'publish_withdrawn' });
    expect(await small).toMatchObject({ seq: 2 });
  });

  it('is bounded by bytes, reader or not, but for a single event', async () => {
    const journal = journalWith({ detachedLimit: 10, maxBytes: 100 });
    const large: CoveredEvent = { type: 'session_update', update: { text: 'x'.repeat(200) } };
    expect(await journal.publish(large)).toMatchObject({ seq: 1 });
    const behind = journal.publish(update(2));
    journal.attach(READER);
    expect(await settled(behind)).toBe(false);
    journal.acknowledge(1);
    expect(await behind).toMatchObject({ seq: 2 });
    // Another large one has to wait until nothing else is inside.
    const second = journal.publish(large);
    expect(await settled(second)).toBe(false);
    journal.acknowledge(2);
    expect(await second).toMatchObject({ seq: 3 });
  });

  it('counts its pauses and how long they were', async () => {
    const clock = new ManualClock();
    const journal = journalWith({ clock });
    await journal.publish(update(1));
    clock.advance(1000);
    expect(journal.figures).toMatchObject({ pauses: 0, pausedMs: 0 });
    const waiting = [journal.publish(update(2)), journal.publish(update(3))];
    clock.advance(100);
    expect(journal.figures).toMatchObject({ pauses: 1, pausedMs: 100 });
    journal.attach(READER);
    await Promise.all(waiting);
    clock.advance(1000);
    expect(journal.figures).toMatchObject({ pauses: 1, pausedMs: 100 });
    journal.detach(READER);
    const last = journal.publish(update(4));
    clock.advance(50);
    journal.stop();
    await expect(last).rejects.toMatchObject({ code: 'journal_stopped' });
    clock.advance(1000);
    expect(journal.figures).toMatchObject({ pauses: 2, pausedMs: 150 });
  });

  it.each(Object.values(EXCLUDED_SAMPLES))(
    'never waits with an event of the excluded class $type, and counts what nobody was told [SURVIVAL-001.6]',
    async (lossy) => {
      const firstDropped: string[] = [];
      const journal = journalWith({ onFirstDropped: (type) => firstDropped.push(type) });
      await journal.publish(update(1));
      const full = journal.publish(update(2));
      // Nobody is there, and there is no room either.
      for (let n = 0; n < 3; n += 1) journal.publishLossy(lossy);
      expect(journal.figures.dropped).toEqual({
        mcp_attachment_attempt: 0,
        mcp_attachment_evidence: 0,
        [lossy.type]: 3,
      });
      expect(firstDropped).toEqual([lossy.type]);

      const heard: string[] = [];
      journal.attach({ ...READER, onLossy: (json) => heard.push(json) > 0 });
      journal.publishLossy(lossy);
      expect(heard).toEqual([JSON.stringify(lossy)]);
      journal.attach({ ...READER, onLossy: () => false });
      journal.publishLossy(lossy);
      expect(journal.figures.dropped).toMatchObject({ [lossy.type]: 4 });
      expect(firstDropped).toHaveLength(1);
      await full;
      expect(journal.nextSeq).toBe(3);
    },
  );
});

describe('room in a journal', () => {
  it('is bounded by events and by bytes, but for a single event', () => {
    const limits = { events: 3, bytes: MAX_UNACKNOWLEDGED_BYTES };
    expect(hasRoom({ events: 0, bytes: 0 }, limits, MAX_UNACKNOWLEDGED_BYTES + 1)).toBe(true);
    expect(hasRoom({ events: 1, bytes: 10 }, limits, MAX_UNACKNOWLEDGED_BYTES)).toBe(false);
    expect(hasRoom({ events: 2, bytes: 10 }, limits, MAX_UNACKNOWLEDGED_BYTES - 10)).toBe(true);
    expect(hasRoom({ events: 3, bytes: 10 }, limits, 1)).toBe(false);
  });
});
