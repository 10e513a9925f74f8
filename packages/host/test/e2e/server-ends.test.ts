import { describe, expect, it, jest } from '@jest/globals';
import { script, scriptedAgentCommand, startBehaviour } from '@holdfast/scripted-agent';
import { processIsAlive, testHome, until, waitForExit, waitUntilReaped } from '@holdfast/testbeds';
import type { HostEvent } from '../../src/index.ts';
import { createSession, hostHere, type HostHere } from '../fixtures/hosts.ts';
import { OpenHost } from '../fixtures/open-host.ts';
import { serverPidOf } from '../fixtures/server-pid.ts';
import { agentsIn } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const WITHIN = { withinMs: 60_000 };
const SILENT = script({ step: 'say', text: 'on it' }, { step: 'silence' });
const ABANDONED = { kind: 'abandoned', stopReason: 'agent_lost' };

describe.each(['on', 'off'] as const)(
  'a control server that is killed under its host, survival %s',
  (survival) => {
    it(
      'is told within seconds, settles what was under way once, and the next prompt starts another',
      async () => {
        await using home = await testHome('server-killed-here');
        await using here = await hostHere(home, { survival });
        const { host } = here;
        const prompted = await createSession(here, home, 'prompted');
        const asking = await createSession(here, home, 'asking');
        const idle = await createSession(here, home, 'idle');
        const turns = [
          await prompted.prompt(SILENT),
          await asking.prompt(script({ step: 'permission', title: 'Delete everything' })),
        ];
        const permission = await until(async () => (await asking.permissions.list())[0], {
          reason: 'the agent to ask',
          ...WITHIN,
        });
        const waiting = prompted.promptNext('never').catch((error: unknown) => error);
        const cancelling = asking.cancel().catch((error: unknown) => error);
        const agents = agentsIn(home.root);
        await killServer(home.path('home'));

        const settled = turns.map(async (turn) => await turn.outcome);
        expect(await Promise.all(settled)).toEqual([ABANDONED, ABANDONED]);
        expect(await waiting).toMatchObject({ code: 'session_not_live' });
        expect(await cancelling).toBe(true);
        await until(() => heard(here, 'session.ended').length === 3, {
          reason: 'all sessions to end',
          ...WITHIN,
        });
        expect(heard(here, 'server.ended')).toMatchObject([{ scope: 'standalone', answer: 'no_answer' }]);
        expect(heard(here, 'session.ended').map(({ why }) => why)).toEqual(
          Array.from({ length: 3 }, () => 'server_gone'),
        );
        await expect(
          asking.permissions.answer(permission.requestId, { cancelled: true }),
        ).rejects.toMatchObject({ code: 'session_not_live' });
        expect(await asking.permissions.list()).toEqual([]);
        expect(await idle.instance()).toBeNull();
        expect(await prompted.record()).toMatchObject({ state: 'waiting_for_input' });
        expect(await host.tasks.get('task-prompted')).toMatchObject({ state: 'review', interrupted: true });

        for (const pid of agents) await waitForExit(pid, { ...WITHIN, reason: 'its input ended' });
        const again = await Promise.all(
          [prompted, asking, idle].map(async (session) => await session.prompt('go on')),
        );
        for (const turn of again) expect(await turn.outcome).toMatchObject({ kind: 'completed' });
        expect(heard(here, 'session.restarted')).toMatchObject([
          { history: 'loaded' },
          { history: 'loaded' },
          { history: 'loaded' },
        ]);
        await createSession(here, home, 'new');
        expect(agentsIn(home.root)).toHaveLength(4);
        const ended = await host.turns.list('prompted');
        expect(ended.map(({ state }) => state)).toEqual(['abandoned', 'completed']);
      },
      LONG_MS,
    );
  },
);

describe('a control server whose end nobody has noticed', () => {
  it(
    'is replaced by the very launch that finds it gone',
    async () => {
      await using home = await testHome('server-killed-idle');
      await using here = await hostHere(home);
      await killServer(home.path('home'));
      const session = await createSession(here, home, 'one');
      expect(await (await session.prompt('hello')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );

  it(
    'is replaced by the very prompt that finds it gone',
    async () => {
      await using home = await testHome('server-killed-prompt');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const live = host.services.live.get('one');
      if (live === undefined) throw new Error('the session is not live');
      // Its events flow, so that nothing tells of the end but the prompt itself.
      await (
        await session.prompt('first')
      ).outcome;
      const { promise: noticed, resolve: notice } = Promise.withResolvers<void>();
      jest.spyOn(live, 'settleRetained').mockReturnValue(noticed);
      await killServer(home.path('home'));
      const prompting = session.prompt('hello');
      await until(() => host.heard('server.ended').length === 1, {
        reason: 'the prompt to notice',
        ...WITHIN,
      });
      notice();
      expect(await (await prompting).outcome).toMatchObject({ kind: 'completed' });
      expect(await host.ledger.turns.list('one')).toMatchObject([
        { state: 'completed' },
        { state: 'failed', dispatchError: { code: 'no_answer' } },
        { state: 'completed' },
      ]);
    },
    LONG_MS,
  );
});

describe('a control server that is told to end', () => {
  it(
    'keeps its sessions closed until their agents are stopped: there is never a second one',
    async () => {
      await using home = await testHome('server-stopping');
      const command = scriptedAgentCommand();
      const environment = startBehaviour({ ignoreStdinEnd: true });
      await using here = await hostHere(home, { agents: { scripted: { command, environment } } });
      const session = await createSession(here, home, 'one');
      const turn = await session.prompt(
        script(
          { step: 'ignoreSigterm' },
          { step: 'ignoreCancel' },
          { step: 'say', text: 'deaf' },
          { step: 'silence' },
        ),
      );
      for await (const { event } of session.events()) if (event.type === 'session_update') break;
      const [agent] = agentsIn(home.root);
      process.kill(serverPidOf(home.path('home')), 'SIGTERM');
      expect(await turn.outcome).toEqual(ABANDONED);
      await until(() => heard(here, 'session.ended').length === 1, {
        reason: 'the session to end',
        ...WITHIN,
      });
      expect(processIsAlive(agent ?? 0)).toBe(true);
      await expect(session.prompt('now?')).rejects.toMatchObject({ code: 'agent_not_gone', retryable: true });
      expect(agentsIn(home.root)).toEqual([agent]);

      await waitForExit(agent ?? 0, { ...WITHIN, reason: 'it is killed after its grace' });
      expect(await (await session.prompt('now?')).outcome).toMatchObject({ kind: 'completed' });
      expect(heard(here, 'server.ended')).toMatchObject([{ answer: 'shutting_down' }]);
    },
    LONG_MS,
  );
});

function heard<Name extends HostEvent['name']>(
  { published }: HostHere,
  name: Name,
): Array<Extract<HostEvent, { name: Name }>> {
  return published.filter((event): event is Extract<HostEvent, { name: Name }> => event.name === name);
}

async function killServer(home: string): Promise<void> {
  const pid = serverPidOf(home);
  process.kill(pid, 'SIGKILL');
  await waitUntilReaped(pid, { withinMs: 60_000, reason: 'it was killed' });
}
