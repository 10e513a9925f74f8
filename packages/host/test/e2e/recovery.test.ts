import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, waitForExit } from '@holdfast/testbeds';
import { Backend } from '../fixtures/backend-driver.ts';
import { agentsIn, killedInMidTurn, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;

describe('launches while recovery runs', () => {
  it(
    'are refused, retryably, before any server was contacted, and welcome afterwards [SURVIVAL-002.8]',
    async () => {
      await using home = await testHome('guard');
      await killedInMidTurn(home);
      await using second = await Backend.ready(home, { launchWhileRecovering: ['one', 'new'] });
      expect(second.refused()).toMatchObject([
        { code: 'session_recovering', sessionId: 'one', retryable: true },
        { code: 'session_recovering', sessionId: 'new', retryable: true },
      ]);
      await touch(home.path('go'));
      await touch(home.path('end'));
      const [turn] = await second.do('turns', 'one');
      await second.do('outcome', turn?.turnId ?? '');
      expect(await second.do('outcome', await second.prompt('one', 'again'))).toMatchObject({
        kind: 'completed',
      });
      await second.close('stop');
    },
    LONG_MS,
  );
});

describe('with survival off, the default', () => {
  it(
    'the server and its agents die with the backend, and nothing is adopted [SURVIVAL-005.1, SURVIVAL-005.2]',
    async () => {
      await using home = await testHome('off');
      let agentPid: number | null;
      {
        await using first = await Backend.ready(home, { survival: 'off' });
        ({ agentPid } = await first.create(home, 'one'));
        await first.prompt('one', script({ step: 'silence' }));
        await first.kill();
      }
      await waitForExit(agentPid ?? 0, { withinMs: 60_000, reason: 'the agent to die with its backend' });
      await using second = await Backend.ready(home, { survival: 'off' });
      const { rows, scopes } = await second.waitForReady();
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect(scopes).toMatchObject([{ server: 'started' }]);
      expect((await second.do('record', 'one')).state).toBe('waiting_for_input');
      expect((await second.do('turns', 'one'))[0]).toMatchObject({ state: 'abandoned' });

      // The session goes on with another agent, which loads the conversation.
      expect(await second.do('outcome', await second.prompt('one', 'go on'))).toMatchObject({
        kind: 'completed',
      });
      expect(second.published()).toContainEqual({
        name: 'session.restarted',
        sessionId: 'one',
        history: 'loaded',
      });
      await second.close('keep');
      expect(agentsIn(home.root)).toEqual([]);
    },
    LONG_MS,
  );
});
