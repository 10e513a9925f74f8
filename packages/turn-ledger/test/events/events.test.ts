import { describe, expect, it } from '@jest/globals';
import { EventGapError, ExecutionNotUsableError, LedgerInputError, openLedger } from '@holdfast/turn-ledger';
import {
  anExecution,
  aTurn,
  ended,
  numbered,
  recordLiveSession,
  rejection,
  said,
  started,
} from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  describe('appending events', () => {
    it('stores each once, whatever comes again [BEYOND-02]', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      const all = numbered(1, said('one'), said('two'), said('three'), said('four'));
      expect(await ledger.events.append('s', all.slice(0, 2))).toEqual({
        stored: 2,
        skipped: 0,
        applied: [],
        unprompted: [],
      });
      expect(await ledger.events.append('s', all.slice(0, 2))).toEqual({
        stored: 0,
        skipped: 2,
        applied: [],
        unprompted: [],
      });
      expect(await ledger.events.append('s', all)).toEqual({
        stored: 2,
        skipped: 2,
        applied: [],
        unprompted: [],
      });
      expect(await ledger.events.append('s', [])).toEqual({
        stored: 0,
        skipped: 0,
        applied: [],
        unprompted: [],
      });
      expect(await ledger.events.cursor('s')).toBe(4);
      const stored = await ledger.events.read('s', { after: 0, limit: 100 });
      expect(stored).toEqual(all.map((event) => ({ ...event, position: event.seq, executionId: 's' })));
    });

    it('takes nothing when one is missing, and names both numbers', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.events.append('s', numbered(1, said('one')));
      const withGap = [...numbered(2, said('two')), ...numbered(4, said('four'))];
      const error = await rejection(ledger.events.append('s', withGap), EventGapError);
      expect(error).toMatchObject({ code: 'event_gap', executionId: 's', expectedSeq: 3, receivedSeq: 4 });
      expect(error.message).toMatch(/at event 2, so 3 is next, but 4 came/);
      expect(await ledger.events.cursor('s')).toBe(1);
      expect(await ledger.events.read('s', { after: 0, limit: 100 })).toHaveLength(1);
    });

    it('takes more at once than one statement can carry', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      const many = numbered(1, ...Array.from({ length: 2_345 }, (_, index) => said(String(index))));
      expect(await ledger.events.append('s', many)).toMatchObject({ stored: 2_345 });
      const tail = await ledger.events.read('s', { after: 2_343, limit: 10 });
      expect(tail.map((event) => event.event)).toEqual([said('2343'), said('2344')]);
    });

    it('keeps what agents write: NUL, lone surrogates, times finer than a millisecond, big and odd JSON', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      const update = {
        sessionUpdate: 'unknown_kind',
        text: 'a\0b\uD83D',
        '': [null, true, 1e300, -0.5, { __proto__x: 1 }],
        big: 'x'.repeat(1_000_000),
      };
      const at = '2026-03-04T05:06:07.890123Z';
      await ledger.events.append('s', [{ seq: 1, at, event: { type: 'session_update', update } }]);
      expect(await ledger.events.read('s', { after: 0, limit: 1 })).toEqual([
        { position: 1, executionId: 's', seq: 1, at, event: { type: 'session_update', update } },
      ]);
    });

    it('is refused for an execution that was never recorded, and for what is no event', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      const unknown = ledger.events.append('nobody', numbered(1, said('lost')));
      expect(await rejection(unknown, ExecutionNotUsableError)).toMatchObject({ why: 'not_recorded' });
      await recordLiveSession(ledger, 's');
      await rejection(ledger.events.append('s', numbered(0, said('zero'))), LedgerInputError);
      expect(await ledger.events.cursor('nobody')).toBe(0);
    });

    it('goes on when the execution has ended: late events are events', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.executionWriter.end('s', 'stopped');
      expect(await ledger.events.append('s', numbered(1, said('late')))).toMatchObject({ stored: 1 });
    });
  });

  describe('events of turns', () => {
    it('move turns and cursor together', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.events.append('s', numbered(1, started('c1', 1), said('working')));
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'running', controlTurnId: 'c1' });
      const result = await ledger.events.append(
        's',
        numbered(3, said('done'), ended('c1', 1), said('by the way')),
      );
      expect(result).toMatchObject({
        stored: 3,
        applied: [
          { applied: true, turnId: 's-1', turnState: 'completed', sessionState: 'waiting_for_input' },
        ],
      });
      expect(await ledger.events.cursor('s')).toBe(5);
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'completed' });
    });

    it('say for each end what it came to', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.turns.begin(aTurn('s', 2));
      const { applied } = await ledger.events.append(
        's',
        numbered(1, started('c0', 1), ended('c0', 1), started('c1', 2), ended('c1', 2), ended('c1', 2)),
      );
      expect(applied).toMatchObject([
        { applied: false, why: 'no_such_turn' },
        { applied: true, turnId: 's-2', controlTurnId: 'c1', promptGeneration: 2 },
        { applied: false, why: 'already_terminal', turnId: 's-2' },
      ]);
    });

    it('do not take a turn from another control turn', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.turns.begin(aTurn('s', 1));
      await ledger.turns.accepted('s-1', 'c1');
      await ledger.events.append('s', numbered(1, started('c2', 1), ended('c2', 1)));
      expect(await ledger.turns.get('s-1')).toMatchObject({ state: 'running', controlTurnId: 'c1' });
    });
  });

  describe('reading a session', () => {
    it('numbers its events without gaps over all its executions', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await recordLiveSession(ledger, 'other');
      await ledger.events.append('s', numbered(1, said('s1')));
      await ledger.events.append('other', numbered(1, said('o1'), said('o2')));
      await ledger.executionWriter.end('s', 'stopped');
      await ledger.executionWriter.insert(anExecution('again', { sessionId: 's', taskId: 's-task' }));
      await ledger.events.append('again', numbered(1, said('s2'), said('s3')));
      await ledger.events.append('s', numbered(2, said('s4, late')));
      const places = (await ledger.events.read('s', { after: 0, limit: 10 })).map(
        ({ position, executionId, seq }) => [position, executionId, seq],
      );
      expect(places).toEqual([
        [1, 's', 1],
        [2, 'again', 1],
        [3, 'again', 2],
        [4, 's', 2],
      ]);
      expect(await ledger.events.lastPosition('s')).toBe(4);
      expect(await ledger.events.lastPosition('other')).toBe(2);
      expect(await ledger.events.lastPosition('unknown')).toBe(0);
    });

    it('gives a page after a position', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await recordLiveSession(ledger, 's');
      await ledger.events.append(
        's',
        numbered(1, ...Array.from({ length: 10 }, (_, index) => said(String(index)))),
      );
      const positions = async (after: number, limit: number): Promise<number[]> =>
        (await ledger.events.read('s', { after, limit })).map((event) => event.position);
      expect(await positions(0, 3)).toEqual([1, 2, 3]);
      expect(await positions(8, 3)).toEqual([9, 10]);
      expect(await positions(10, 3)).toEqual([]);
      await rejection(ledger.events.read('s', { after: -1, limit: 3 }), LedgerInputError);
      await rejection(ledger.events.read('s', { after: 0, limit: 0 }), LedgerInputError);
    });
  });
});
