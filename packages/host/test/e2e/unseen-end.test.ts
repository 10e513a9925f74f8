import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until } from '@holdfast/testbeds';
import { Backend, chunkTexts } from '../fixtures/backend-driver.ts';
import { endedUnseen, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

describe('a turn that ends while no backend is there', () => {
  it(
    'is applied before its session is published, once [SURVIVAL-004.1, SURVIVAL-004.2, SURVIVAL-004.4, GENERATION-05]',
    async () => {
      await using home = await testHome('unseen');
      const { turnId } = await endedUnseen(home);
      await using second = await Backend.ready(home);
      // Not awaited into being: this is what the ledger said when the host came up.
      const published = second.published().map(({ name }) => name);
      expect(published.indexOf('turn.outcome')).toBeLessThan(published.indexOf('session.retracked'));
      expect((await second.do('record', 'one')).state).toBe('waiting_for_input');
      expect((await second.do('turns', 'one'))[0]).toMatchObject({
        turnId,
        state: 'completed',
        promptGeneration: 1,
        outcome: { kind: 'completed', stopReason: 'end_turn' },
      });

      // The stream tells the same end once more.
      const events = await second.allEvents('one');
      expect(events.at(-1)?.event).toMatchObject({ type: 'turn_ended', promptGeneration: 1 });
      expect(second.published().filter(({ name }) => name === 'turn.outcome')).toHaveLength(1);
      // What follows the end of a prompt follows this one as well, once.
      await until(() => second.completed().length > 0, {
        reason: 'the turn to be followed up',
        withinMs: 60_000,
      });
      expect(second.completed()).toEqual([{ sessionId: 'one', turnId, next: null }]);
      expect(second.published().filter(({ name }) => name === 'session.ready')).toMatchObject([
        { promptGeneration: 1, after: 'prompt' },
      ]);
      await until(async () => (await second.instance('one')).retainedOutcomes === 0, {
        reason: 'the outcome to be acknowledged',
        withinMs: 60_000,
      });
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'is applied once though the backend that applied it died before it could say so [SURVIVAL-004.4, SURVIVAL-004.6]',
    async () => {
      await using home = await testHome('unacknowledged');
      const { turnId } = await endedUnseen(home);
      {
        // It dies in the instant after the outcome is durable, before the server is told.
        await using second = await Backend.start(home, { dieAt: 'turn.outcome' });
        expect(await second.ended()).toMatchObject({ signal: 'SIGKILL' });
      }
      await using third = await Backend.ready(home);
      expect((await third.do('turns', 'one'))[0]).toMatchObject({ turnId, state: 'completed' });
      expect(third.published().filter(({ name }) => name === 'turn.outcome')).toEqual([]);
      expect(third.published().filter(({ name }) => name === 'session.ready')).toMatchObject([
        { promptGeneration: 1, after: 'boot' },
      ]);
      await until(async () => (await third.instance('one')).retainedOutcomes === 0, {
        reason: 'the outcome to be acknowledged',
        withinMs: 60_000,
      });
      const further = await third.prompt('one', 'next');
      expect(await third.do('outcome', further)).toMatchObject({ kind: 'completed' });
      expect(await third.do('turns', 'one')).toHaveLength(2);
      await third.close('stop');
    },
    LONG_MS,
  );
});

describe('a permission that is asked for while no backend is there', () => {
  it(
    'waits for the next one and is answered once',
    async () => {
      await using home = await testHome('permission');
      let turnId = '';
      {
        await using first = await Backend.ready(home);
        await first.create(home, 'one');
        turnId = await first.prompt(
          'one',
          script(
            { step: 'waitFor', file: home.path('go') },
            { step: 'touch', file: home.path('asking') },
            { step: 'permission', title: 'Delete everything' },
          ),
        );
        await first.kill();
      }
      await touch(home.path('go'));
      await until(() => existsSync(home.path('asking')), { reason: 'the agent to ask', withinMs: 60_000 });
      await using second = await Backend.ready(home);
      const request = await until(async () => (await second.do('permissions', 'one'))[0], {
        reason: 'the permission request to be listed',
        withinMs: 60_000,
      });
      await second.do('answer', { sessionId: 'one', requestId: request.requestId, optionId: 'allow' });
      expect(await second.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
      expect(chunkTexts(await second.allEvents('one'))).toEqual(['permission: allow']);
      await expect(
        second.do('answer', { sessionId: 'one', requestId: request.requestId, optionId: 'allow' }),
      ).rejects.toMatchObject({ code: 'permission_stale' });
      await second.close('stop');
    },
    LONG_MS,
  );
});
