import { describe, expect, it } from '@jest/globals';
import type { SessionChoice } from '@holdfast/control-protocol';
import { script, scriptedAgentCommand, startBehaviour, type StartBehaviour } from '@holdfast/scripted-agent';
import { signalProcess, testHome, until, waitForExit } from '@holdfast/testbeds';
import type { ProgramAgentOptions } from '../../src/index.ts';
import { Backend, chunkTexts } from '../fixtures/backend-driver.ts';

const LONG_MS = 300_000;

const agents = (behaviour: StartBehaviour, options: Partial<ProgramAgentOptions> = {}) => ({
  agents: {
    scripted: { command: scriptedAgentCommand(), environment: startBehaviour(behaviour), ...options },
  },
});

const OFFERS: StartBehaviour = { models: 'option', configOptions: true };

const CHOICES: readonly SessionChoice[] = [
  { kind: 'mode', modeId: 'ask' },
  { kind: 'config_option', optionId: 'model', value: 'small' },
  { kind: 'config_option', optionId: 'verbose', value: true },
  { kind: 'mode', modeId: 'auto' },
  { kind: 'model', modelId: 'large' },
];

/** What the agent says is chosen, in a turn of its own. */
async function chosen(backend: Backend): Promise<unknown> {
  const turnId = await backend.prompt('one', script({ step: 'choices' }));
  expect(await backend.do('outcome', turnId)).toMatchObject({ kind: 'completed' });
  const [said = ''] = chunkTexts(await backend.do('updatesIn', { sessionId: 'one', turnId }));
  return JSON.parse(said.replace('choices: ', ''));
}

const choose = async (backend: Backend, ...choices: readonly SessionChoice[]): Promise<void> => {
  for (const choice of choices) await backend.do('choose', { sessionId: 'one', choice });
};

describe('what is chosen for a session', () => {
  it(
    'holds, told by events, when its agent crashes, when its backend and its control server are killed, and when it is stopped',
    async () => {
      await using home = await testHome('choices');
      const expected = { mode: 'auto', model: 'large', effort: 'low', verbose: true };
      {
        await using first = await Backend.ready(home, agents(OFFERS));
        const { agentPid } = await first.create(home, 'one');
        await choose(first, ...CHOICES);
        expect(await chosen(first)).toEqual({ opened: 'new', ...expected });
        const told = (await first.allEvents('one')).map(({ event }) => event);
        expect(told).toContainEqual({ type: 'session_config_changed', optionId: 'verbose', value: true });
        expect(told.findLast(({ type }) => type === 'session_model')).toMatchObject({
          currentModelId: 'large',
        });
        // The last of each, in the order in which they were made.
        expect((await first.do('record', 'one')).choices).toEqual(CHOICES.slice(1));

        signalProcess(agentPid, 'SIGKILL');
        await until(async () => (await first.instance('one')).agentPid === null, {
          reason: 'the instance to have no agent',
          withinMs: 60_000,
        });
        expect(await chosen(first)).toEqual({ opened: 'load', ...expected });
        signalProcess(first.serverPid(home), 'SIGKILL');
        await first.waitForPublished('session.detached');
        await first.kill();
      }
      await using second = await Backend.ready(home, agents(OFFERS));
      expect(await chosen(second)).toEqual({ opened: 'load', ...expected });
      await second.do('stop', 'one');
      await choose(second, { kind: 'mode', modeId: 'ask' });
      expect(await chosen(second)).toEqual({ opened: 'load', ...expected, mode: 'ask' });
      await second.close('stop');
    },
    LONG_MS,
  );

  it(
    'stands in place of the profile, and comes back to it when it is forgotten',
    async () => {
      await using home = await testHome('profile');
      const profile = agents({ ...OFFERS, models: 'list' }, { modeId: 'auto', modelId: 'large' });
      await using backend = await Backend.ready(home, profile);
      await backend.create(home, 'one');
      expect(await chosen(backend)).toMatchObject({ mode: 'auto', model: 'large' });
      await choose(backend, { kind: 'mode', modeId: 'ask' }, { kind: 'model', modelId: 'small' });
      expect(await chosen(backend)).toMatchObject({ mode: 'ask', model: 'small' });
      await backend.do('stop', 'one');
      expect(await chosen(backend)).toMatchObject({ opened: 'load', mode: 'ask', model: 'small' });
      await backend.do('forgetChoices', 'one');
      expect(await chosen(backend)).toMatchObject({ mode: 'ask', model: 'small' });
      await backend.do('stop', 'one');
      expect(await chosen(backend)).toMatchObject({ mode: 'auto', model: 'large' });
      await backend.close('stop');
    },
    LONG_MS,
  );

  it(
    'that the agent no longer takes does not start in silence with another',
    async () => {
      await using home = await testHome('gone');
      {
        await using first = await Backend.ready(home, agents(OFFERS));
        await first.create(home, 'one');
        await choose(first, { kind: 'config_option', optionId: 'effort', value: 'high' });
        await first.close('stop');
      }
      await using second = await Backend.ready(home, agents({}));
      await expect(second.prompt('one', 'hello')).rejects.toMatchObject({
        code: 'agent_start_failed',
        facts: { cause: { details: { phase: 'config_option' } } },
      });
      await second.do('forgetChoices', 'one');
      expect(await chosen(second)).toEqual({ opened: 'load', mode: 'ask' });
      await second.close('stop');
    },
    LONG_MS,
  );
});

describe('a choice that the agent does not confirm', () => {
  it(
    'is told as refused, or as not known, and is not kept',
    async () => {
      await using home = await testHome('refused');
      await using backend = await Backend.ready(home, agents({}));
      const { agentPid } = await backend.create(home, 'one');
      const mode = (modeId: string) =>
        backend.do('choose', { sessionId: 'one', choice: { kind: 'mode', modeId } });
      await expect(mode('wild')).rejects.toMatchObject({
        code: 'choice_refused',
        message:
          'mode wild was not taken by the agent of session one: The agent refused the mode: The field "modeId" must be "ask" or "auto".',
        facts: { sessionId: 'one', choice: { kind: 'mode', modeId: 'wild' } },
      });
      await expect(mode('')).rejects.toMatchObject({ code: 'host_option_not_accepted' });
      const serverPid = backend.serverPid(home);
      signalProcess(serverPid, 'SIGSTOP');
      const auto = mode('auto').catch((error: unknown) => error);
      // By the time of this answer the server has been asked; it dies with the question.
      expect((await backend.do('record', 'one')).choices).toEqual([]);
      signalProcess(serverPid, 'SIGKILL');
      expect(await auto).toMatchObject({
        code: 'choice_unresolved',
        message: 'the agent of session one did not say whether it took mode auto; set it again',
      });
      expect((await backend.do('record', 'one')).choices).toEqual([]);
      await waitForExit(agentPid ?? 0, { withinMs: 60_000, reason: 'its pipes are gone' });
      await backend.close('keep');
    },
    LONG_MS,
  );
});

describe('an agent with a memory limit', () => {
  it(
    'fails its turn when it holds more, and the next prompt starts another',
    async () => {
      await using home = await testHome('memory');
      const memoryLimitBytes = 300 * 1024 * 1024;
      await using backend = await Backend.ready(home, agents({}, { memoryLimitBytes }));
      await backend.create(home, 'one');
      const turnId = await backend.prompt(
        'one',
        script({ step: 'memory', bytes: memoryLimitBytes }, { step: 'silence' }),
      );
      expect(await backend.do('outcome', turnId)).toMatchObject({
        kind: 'failed',
        error: { code: 'agent_memory_limit' },
      });
      await until(async () => (await backend.instance('one')).agentPid === null, {
        reason: 'the instance to have no agent',
        withinMs: 60_000,
      });
      expect(await backend.do('outcome', await backend.prompt('one', 'again'))).toMatchObject({
        kind: 'completed',
      });
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('a conversation that is to be loaded', () => {
  it(
    'is given up only by an agent that does not have it, not by one that refuses for another reason',
    async () => {
      await using home = await testHome('load');
      {
        await using first = await Backend.ready(home, agents({}));
        await first.create(home, 'one');
        await first.close('stop');
      }
      {
        await using second = await Backend.ready(
          home,
          agents({ sessionError: { code: -32_050, message: 'full' } }),
        );
        await expect(second.prompt('one', 'hello')).rejects.toMatchObject({ code: 'agent_start_failed' });
        await second.close('stop');
      }
      {
        await using third = await Backend.ready(home, agents({ resume: true }));
        expect(await chosen(third)).toMatchObject({ opened: 'resume' });
        await third.close('stop');
      }
      await using fourth = await Backend.ready(home, agents({ loadSession: false }));
      expect(await chosen(fourth)).toMatchObject({ opened: 'new' });
      expect(fourth.published()).toContainEqual({
        name: 'session.restarted',
        sessionId: 'one',
        history: 'lost',
        why: 'The agent cannot load conversations; start it with a new session.',
      });
      await fourth.close('stop');
    },
    LONG_MS,
  );
});
