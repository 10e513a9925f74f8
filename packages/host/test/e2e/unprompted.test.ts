import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until } from '@holdfast/testbeds';
import { Backend, chunkTexts } from '../fixtures/backend-driver.ts';
import { OpenHost } from '../fixtures/open-host.ts';
import { serverOf } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const WITHIN = { withinMs: 60_000 };
/** It answers, and goes on by itself after a silence: well above the second that makes one, wherever a busy machine spends its time. */
const GOES_ON = script(
  { step: 'say', text: 'done' },
  { step: 'late', afterMs: 4000, text: 'one more thing' },
);

describe('an agent that works on its own', () => {
  it(
    'gets a turn of its own, which the next prompt ends; what follows prompts does not follow it [GENERATION-07]',
    async () => {
      await using home = await testHome('own');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const first = await session.prompt(GOES_ON);
      await first.outcome;
      expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });
      const own = await until(() => host.heard('turn.unprompted')[0], {
        reason: 'the agent to work on its own',
        ...WITHIN,
      });
      expect(await session.record()).toMatchObject({ state: 'running' });
      expect(await host.ledger.tasks.get('task-one')).toMatchObject({ state: 'review' });
      expect(host.services.live.get('one')?.lifecycle.state).toMatchObject({ status: 'ready', active: null });
      expect((await host.ledger.turns.list('one'))[1]).toMatchObject({
        turnId: own.turnId,
        startedBy: 'agent',
        promptGeneration: 0,
        state: 'running',
      });

      const second = await session.prompt('and now?');
      expect(await second.outcome).toMatchObject({ kind: 'completed' });
      expect(await host.ledger.turns.list('one')).toMatchObject([
        { turnId: first.id, startedBy: 'prompt', promptGeneration: 1, state: 'completed' },
        { turnId: own.turnId, startedBy: 'agent', state: 'completed' },
        { turnId: second.id, startedBy: 'prompt', promptGeneration: 2, state: 'completed' },
      ]);
      const turns = host.heard('turn.outcome').map(({ turnId, startedBy }) => [turnId, startedBy]);
      expect(turns).toEqual([
        [first.id, 'prompt'],
        [own.turnId, 'agent'],
        [second.id, 'prompt'],
      ]);
      await until(() => host.completed.length === 2, { reason: 'both prompts to be followed up', ...WITHIN });
      expect(host.completed.map(({ turn }) => turn.turnId)).toEqual([first.id, second.id]);
      expect(host.heard('session.ready').map(({ promptGeneration }) => promptGeneration)).toEqual([0, 1, 2]);
      expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });
    },
    LONG_MS,
  );

  it(
    'is found at it by the next backend: the session is published running, and can be prompted [GENERATION-07, SURVIVAL-004.2]',
    async () => {
      await using home = await testHome('own-detached');
      {
        await using first = await Backend.ready(home);
        const { instanceId } = await first.create(home, 'one');
        await first.do('outcome', await first.prompt('one', GOES_ON));
        await first.kill();
        const server = await serverOf(home);
        await until(
          async () => (await server.call('getTurn', { instanceId })).active?.promptGeneration === 0,
          {
            reason: 'the agent to work on its own',
            ...WITHIN,
          },
        );
      }
      await using second = await Backend.ready(home);
      const { rows } = await second.waitForReady();
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'retracked' } }]);
      expect(second.published().map(({ name }) => name)).toContain('turn.unprompted');
      expect((await second.do('record', 'one')).state).toBe('running');
      const [, own] = await second.do('turns', 'one');
      expect(own).toMatchObject({ startedBy: 'agent', state: 'running' });
      expect(await second.do('outcome', await second.prompt('one', 'and now?'))).toMatchObject({
        kind: 'completed',
      });
      expect(await second.do('outcome', own?.turnId ?? '')).toMatchObject({ kind: 'completed' });
      expect(chunkTexts(await second.allEvents('one'))).toEqual(['done', 'one more thing', 'and now?']);
      expect(second.published().filter(({ name }) => name === 'turn.unprompted')).toHaveLength(1);
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'and is stopped leaves a turn that is cancelled',
    async () => {
      await using home = await testHome('own-stopped');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      await (
        await session.prompt(GOES_ON)
      ).outcome;
      await until(() => host.heard('turn.unprompted')[0], {
        reason: 'the agent to work on its own',
        ...WITHIN,
      });
      await session.stop();
      expect(await host.ledger.turns.list('one')).toMatchObject([
        { state: 'completed' },
        { startedBy: 'agent', state: 'cancelled', outcome: { stopReason: 'agent_stopped' } },
      ]);
      expect(await session.record()).toMatchObject({ state: 'stopped' });
    },
    LONG_MS,
  );
});
