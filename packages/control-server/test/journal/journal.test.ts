import { describe, expect, it } from '@jest/globals';
import {
  EVENT_RETENTION,
  InstanceEvent,
  SequencedEvent,
  type CoveredEvent,
} from '@holdfast/control-protocol';
import * as fc from 'fast-check';
import { MAX_UNACKNOWLEDGED_BYTES, hasRoom } from '../../src/journal/capacity.ts';
import { Journal, type JournalReader } from '../../src/journal/journal.ts';
import { ManualClock } from '../support/manual-clock.ts';

const READER: JournalReader = { onAppended: () => undefined, onLossy: () => undefined };
const ENDED = { turnId: 't', promptGeneration: 1 };

/** One event of each covered class; a class without one does not compile. */
const SAMPLES: { readonly [Type in CoveredEvent['type']]: Extract<CoveredEvent, { type: Type }> } = {
  session_update: { type: 'session_update', update: { sessionUpdate: 'x' } },
  turn_started: { type: 'turn_started', ...ENDED },
  turn_ended: { type: 'turn_ended', ...ENDED, outcome: { kind: 'completed', stopReason: 'end_turn' } },
  agent_error: { type: 'agent_error', code: 'c', message: 'm', promptGeneration: 0 },
  agent_exited: { type: 'agent_exited', code: 0, signal: null, stderr: [], expected: true },
  permission_requested: {
    type: 'permission_requested',
    permission: {
      requestId: 'r',
      turnId: null,
      requestedAt: '2026-01-01T00:00:00.000Z',
      toolCall: {},
      options: [],
    },
  },
  permission_cancelled: { type: 'permission_cancelled', requestId: 'r', reason: 'agent_withdrew' },
  context_window: { type: 'context_window', size: 2, used: 1 },
  session_model: { type: 'session_model', currentModelId: 'm', availableModels: [] },
  session_config: { type: 'session_config', options: [] },
  session_config_changed: { type: 'session_config_changed', optionId: 'o', value: 1 },
};

const journalOf = (detachedLimit: number): Journal =>
  new Journal({ clock: new ManualClock(), detachedLimit });
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
    expect(Object.keys(SAMPLES).toSorted()).toEqual(covered.map(([type]) => type).toSorted());
  });

  describe.each(Object.values(SAMPLES))('an event of class $type', (sample) => {
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

  it('keeps the order of its publishers, without a gap and within the limit, for every history', async () => {
    const step = fc.oneof(
      fc.constant('publish' as const),
      fc.constant('attach' as const),
      fc.constant('detach' as const),
      fc.record({ acknowledge: fc.nat(30) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 100 }),
        fc.integer({ min: 1, max: 8 }),
        async (steps, limit) => {
          const journal = journalOf(limit);
          const published: Array<Promise<unknown>> = [];
          const places: number[] = [];
          let acknowledged = 0;
          for (const what of steps) {
            if (what === 'publish') {
              const n = published.length + 1;
              published.push(journal.publish(update(n), { onAdmitted: ({ seq }) => places.push(seq) }));
            } else if (what === 'attach') journal.attach(READER);
            else if (what === 'detach') journal.detach(READER);
            else {
              acknowledged = Math.max(acknowledged, Math.min(what.acknowledge, journal.nextSeq - 1));
              journal.acknowledge(acknowledged);
            }
            const kept = journal
              .readAfter(0, 1_000_000)
              .map(({ json }) => SequencedEvent.parse(JSON.parse(json)));
            expect(kept.map(({ seq }) => seq)).toEqual(
              Array.from(
                { length: journal.nextSeq - 1 - acknowledged },
                (_, index) => acknowledged + index + 1,
              ),
            );
            for (const { seq, event } of kept) expect(event).toEqual(update(seq));
            expect(journal.paused).toBe(places.length < published.length);
            expect(!journal.paused || journal.unacknowledged >= limit).toBe(true);
          }
          expect(places).toEqual(places.map((_, index) => index + 1));
          journal.stop();
          await Promise.allSettled(published);
        },
      ),
    );
  });

  it('lets a waiting publisher take its event back', async () => {
    const journal = journalOf(1);
    await journal.publish(update(1));
    const change = new AbortController();
    const withdrawn = journal.publish(update(2), { signal: change.signal });
    const behind = journal.publish(update(3));
    change.abort();
    await expect(withdrawn).rejects.toMatchObject({ code: 'publish_withdrawn' });
    journal.acknowledge(1);
    expect(await behind).toMatchObject({ seq: 2 });
  });

  it('delivers the excluded classes only to whoever listens', () => {
    const journal = journalOf(1);
    const heard: string[] = [];
    const lossy = { type: 'mcp_attachment_evidence', serverName: 's', evidence: 'e' } as const;
    journal.publishLossy(lossy);
    journal.attach({ ...READER, onLossy: (json) => heard.push(json) });
    journal.publishLossy(lossy);
    expect(heard).toEqual([JSON.stringify(lossy)]);
    expect(journal.nextSeq).toBe(1);
  });
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
