import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { processIsAlive, processStartTime, testHome, until, waitForExit } from '@holdfast/testbeds';
import { Backend, chunkTexts, numberedChunks } from '../fixtures/backend-driver.ts';
import { agentsIn, killedInMidTurn, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

describe('a backend that ends in mid-turn', () => {
  it(
    'leaves its agents alive when it closes, and the next one goes on with them [SURVIVAL-001.1, SURVIVAL-001.4]',
    async () => {
      await using home = await testHome('close');
      let agentPid: number | null;
      {
        await using first = await Backend.ready(home);
        ({ agentPid } = await first.create(home, 'one'));
        await first.prompt(
          'one',
          script({ step: 'chunks', count: 5 }, { step: 'waitFor', file: home.path('go') }),
        );
        await first.close('keep');
      }
      expect(processIsAlive(agentPid ?? 0)).toBe(true);
      await using second = await Backend.ready(home);
      expect((await second.instance('one')).agentPid).toBe(agentPid);
      const [turn] = await second.do('turns', 'one');
      await touch(home.path('go'));
      expect(await second.do('outcome', turn?.turnId ?? '')).toMatchObject({ kind: 'completed' });
      expect(chunkTexts(await second.allEvents('one'))).toEqual(numberedChunks(5));
      await second.close('stop');
      await waitForExit(agentPid ?? 0, {
        withinMs: 60_000,
        reason: 'the agent to be stopped with its server',
      });
    },
    LONG_MS,
  );

  it(
    'loses nothing when it is killed with its process group [SURVIVAL-001.2, SURVIVAL-001.4, SURVIVAL-001.5, SURVIVAL-003.2, SURVIVAL-003.3, SURVIVAL-003.4, SURVIVAL-003.5]',
    async () => {
      await using home = await testHome('kill');
      const before = await killedInMidTurn(home);
      await touch(home.path('go'));
      await until(() => existsSync(home.path('detached')), {
        reason: 'the agent to work while nobody is attached',
        withinMs: 60_000,
      });

      await using second = await Backend.ready(home);
      const { rows } = await second.waitForReady();
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'retracked' } }]);
      expect((await second.do('record', 'one')).state).toBe('running');
      const [turn] = await second.do('turns', 'one');
      expect(turn).toMatchObject({ turnId: before.turnId, state: 'running' });
      expect(await second.do('task', 'task-one')).toMatchObject({ state: 'in_progress', interrupted: false });

      const instance = await second.instance('one');
      expect(instance.agentPid).toBe(before.agentPid);
      expect(processStartTime(before.agentPid)).toBe(before.agentStarted);
      expect(instance.providerSessionId).toBe(before.providerSessionId);
      expect(agentsIn(home.root)).toEqual([before.agentPid]);

      await touch(home.path('end'));
      expect(await second.do('outcome', before.turnId)).toEqual({
        kind: 'completed',
        stopReason: 'end_turn',
      });
      const events = await second.allEvents('one');
      expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
      // A session that had been loaded again would have replayed the first chunks.
      expect(chunkTexts(events)).toEqual([...numberedChunks(5), ...numberedChunks(30)]);

      const further = await second.prompt('one', 'still there?');
      expect(await second.do('outcome', further)).toMatchObject({ kind: 'completed' });
      expect((await second.instance('one')).agentPid).toBe(before.agentPid);
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'stores every event once, however often it is killed while they stream [BEYOND-02, SURVIVAL-001.5]',
    async () => {
      await using home = await testHome('again');
      const rounds = ['first', 'second', 'third', 'fourth'];
      const perRound = 100;
      let turnId = '';
      for (const round of rounds) {
        await using backend = await Backend.ready(home);
        if (turnId === '') {
          await backend.create(home, 'one');
          const stream = rounds.flatMap((name) => [
            { step: 'waitFor', file: home.path(name) } as const,
            { step: 'chunks', count: perRound, everyMs: 5, text: name } as const,
          ]);
          turnId = await backend.prompt('one', script(...stream));
        }
        await touch(home.path(round));
        // Killed in the middle of what its agent writes; the rest comes while nobody is attached.
        await backend.moreEvents('one', 20);
        await backend.kill();
      }
      await using last = await Backend.ready(home);
      expect(await last.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
      const events = await last.allEvents('one');
      expect(chunkTexts(events)).toEqual(rounds.flatMap((name) => numberedChunks(perRound, name)));
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      await last.close('stop');
    },
    LONG_MS,
  );
});
