import { describe, expect, it, jest } from '@jest/globals';
import { takeEnumerations } from '@holdfast/recovery';
import { script } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
import { settleLostAgent } from '../../src/sessions/settle.ts';
import { OpenHost } from '../fixtures/open-host.ts';
import { touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const WITHIN = { withinMs: 60_000 };

/** A prompt that runs until the file is there. */
function workUntil(home: TestHome, file: string): string {
  return script({ step: 'waitFor', file: home.path(file) }, { step: 'say', text: file });
}

describe('an execution whose session has got another', () => {
  it.each([
    ['that has ended for this host', true],
    ['of which this host has not noticed the end', false],
  ])(
    '%s touches nothing of the new one, though their prompts have the same number [GENERATION-01, GENERATION-08, GENERATION-09, GENERATION-12]',
    async (_what, isEnded) => {
      await using home = await testHome('replaced');
      await using host = await OpenHost.open(home);
      const { services, ledger } = host;
      const session = await host.create('one');
      const first = await session.prompt(workUntil(home, 'old'));
      const old = services.live.get('one');
      if (old === undefined) throw new Error('the session is not live');
      // Its agent works on, and its stream stays open: the latest that an event of it can come.
      services.live.delete('one');
      if (isEnded) old.lifecycle.end();
      await settleLostAgent(services, old.execution, true);
      // A launch beside an agent that is seen is refused; this one is not seen.
      const nothingSeen = await takeEnumerations([], new AbortController().signal);
      jest.spyOn(services.liveness, 'enumerate').mockResolvedValue(nothingSeen);
      try {
        const second = await session.prompt(workUntil(home, 'new'));
        const fresh = services.live.get('one');
        const oldId = old.execution.executionId;
        const newId = fresh?.execution.executionId;
        expect(newId).not.toBe(oldId);
        expect(await ledger.turns.list('one')).toMatchObject([
          { turnId: first.id, executionId: oldId, promptGeneration: 1, state: 'abandoned' },
          { turnId: second.id, executionId: newId, promptGeneration: 1, state: 'running' },
        ]);

        await touch(home.path('old'));
        await until(
          async () =>
            (await ledger.events.read('one', { after: 0, limit: 1000 })).find(
              ({ event, executionId }) => event.type === 'turn_ended' && executionId === oldId,
            ),
          { reason: 'the late end of the old execution to arrive', ...WITHIN },
        );
        await until(async () => (await old.instance()).retainedOutcomes === 0, {
          reason: 'the old outcome to be dealt with',
          ...WITHIN,
        });
        // A step that was set in motion would have had the guard by now.
        await services.sessionGuard.hold('one', () => undefined);
        expect(host.completed).toEqual([]);
        expect(host.heard('turn.outcome')).toEqual([]);
        expect(fresh?.lifecycle.state).toMatchObject({ status: 'running', active: { generation: 1 } });
        expect(await session.record()).toMatchObject({ state: 'running' });
        expect(await ledger.turns.get(second.id)).toMatchObject({ state: 'running', outcome: null });
        const late = host
          .heard('session.ready')
          .filter(({ executionId, after }) => after === 'prompt' && executionId === oldId);
        expect(late).toHaveLength(isEnded ? 0 : 1);
        expect(late.some((ready) => host.sessions.isCurrent(ready))).toBe(false);

        await touch(home.path('new'));
        expect(await second.outcome).toMatchObject({ kind: 'completed' });
        expect(await first.outcome).toMatchObject({ kind: 'abandoned' });
        await until(() => host.completed.length > 0, { reason: 'the new turn to be followed up', ...WITHIN });
        expect(host.completed).toMatchObject([{ turn: { turnId: second.id } }]);
      } finally {
        await old.release();
      }
    },
    LONG_MS,
  );
});
