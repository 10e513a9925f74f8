import { describe, expect, it, jest } from '@jest/globals';
import { NoAnswerError } from '@holdfast/control-protocol/client';
import { script } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
import { createSession, hostHere, sessionOf } from '../fixtures/hosts.ts';
import { OpenHost } from '../fixtures/open-host.ts';
import { agentsIn, touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const WITHIN = { withinMs: 60_000 };
const SILENT = script({ step: 'say', text: 'on it' }, { step: 'silence' });
const STOPPED = { kind: 'cancelled', stopReason: 'agent_stopped' };

describe('a session that is stopped', () => {
  it(
    'has its turn cancelled and its task left as it is: nothing was interrupted',
    async () => {
      await using home = await testHome('stopped-turn');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const turn = await session.prompt(SILENT);
      await session.stop();
      expect(await turn.outcome).toEqual(STOPPED);
      expect(host.heard('turn.outcome')).toEqual([
        { name: 'turn.outcome', sessionId: 'one', turnId: turn.id, outcome: STOPPED, startedBy: 'prompt' },
      ]);
      expect(await session.record()).toMatchObject({ state: 'stopped' });
      expect(await host.ledger.turns.list('one')).toMatchObject([{ state: 'cancelled', outcome: STOPPED }]);
      expect(await host.ledger.tasks.get('task-one')).toMatchObject({
        state: 'in_progress',
        interrupted: false,
      });
      expect(agentsIn(home.root)).toEqual([]);
      expect(host.completed).toEqual([]);
      await session.stop();
      expect(await (await session.prompt('go on')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );

  it(
    'keeps the outcome of a turn that had ended, though its event had not come yet',
    async () => {
      await using home = await testHome('stopped-late');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const append = host.ledger.events.append.bind(host.ledger.events);
      const { promise: slow, resolve: store } = Promise.withResolvers<void>();
      const turn = await session.prompt(script({ step: 'waitFor', file: home.path('go') }));
      jest.spyOn(host.ledger.events, 'append').mockImplementation(async (...events) => {
        await slow;
        return await append(...events);
      });
      await touch(home.path('go'));
      await endedOnServer(host);
      const stopping = session.stop();
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      store();
      await stopping;
      expect(await host.ledger.turns.list('one')).toMatchObject([{ state: 'completed' }]);
      expect(host.heard('turn.outcome')).toHaveLength(1);
      expect(await host.ledger.tasks.get('task-one')).toMatchObject({ state: 'review', interrupted: false });
    },
    LONG_MS,
  );

  it(
    'goes on as before where that could not begin, with its prompts that wait and its cancels',
    async () => {
      await using home = await testHome('stopped-not');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const turn = await session.prompt(SILENT);
      const next = session.promptNext('next');
      const away = new Error('the ledger is away');
      jest.spyOn(host.ledger.turns, 'openTurn').mockRejectedValueOnce(away);
      await expect(session.stop()).rejects.toThrow(away);
      expect(await session.cancel()).toBe(true);
      // It has waited for that.
      expect(host.heard('turn.outcome')).toMatchObject([{ turnId: turn.id, outcome: { kind: 'cancelled' } }]);
      expect(await (await next).outcome).toMatchObject({ kind: 'completed' });
      expect(agentsIn(home.root)).toHaveLength(1);
    },
    LONG_MS,
  );

  it(
    'can be stopped again where that failed',
    async () => {
      await using home = await testHome('stopped-again');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const turn = await session.prompt(SILENT);
      const client = host.services.live.get('one')?.client;
      if (client === undefined) throw new Error('the session is not live');
      const call = client.call.bind(client);
      const failing = jest.spyOn(client, 'call').mockImplementation(async (name, input, options) => {
        if (name !== 'deleteInstance') return await call(name, input, options);
        throw new NoAnswerError({
          endpoint: 'the server',
          operation: name,
          why: 'it hangs',
          cause: undefined,
        });
      });
      const waiting = session.promptNext('never').catch((error: unknown) => error);
      await expect(session.stop()).rejects.toMatchObject({ code: 'no_answer' });
      expect(await waiting).toMatchObject({ code: 'session_not_live' });
      failing.mockRestore();
      await expect(session.prompt('now?')).rejects.toMatchObject({ code: 'turn_in_progress' });
      expect(agentsIn(home.root)).toHaveLength(1);
      await session.stop();
      expect(agentsIn(home.root)).toEqual([]);
      expect(await turn.outcome).toEqual(STOPPED);
      expect(await (await session.prompt('now')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );
});

describe('a host that closes', () => {
  it(
    'and stops its agents, as it was told to, interrupts nothing',
    async () => {
      await using home = await testHome('closed-stop');
      expect(await closedWith(home, 'on', 'stop')).toEqual({
        turn: { state: 'cancelled', outcome: STOPPED },
        task: { state: 'in_progress', interrupted: false },
        session: 'waiting_for_input',
      });
    },
    LONG_MS,
  );

  it(
    'and cannot keep its agents has interrupted them',
    async () => {
      await using home = await testHome('closed-off');
      expect(await closedWith(home, 'off', 'keep')).toEqual({
        turn: { state: 'abandoned', outcome: null },
        task: { state: 'review', interrupted: true },
        session: 'waiting_for_input',
      });
    },
    LONG_MS,
  );
});

/** What the next host finds of a session whose turn was under way when the last one closed. */
async function closedWith(home: TestHome, survival: 'on' | 'off', agents: 'keep' | 'stop'): Promise<unknown> {
  {
    await using first = await hostHere(home, { survival });
    const session = await createSession(first, home, 'one');
    const turn = await session.prompt(SILENT);
    const outcome = turn.outcome.catch((error: unknown) => error);
    await first.host.close({ agents });
    expect(await outcome).toMatchObject({ code: 'host_closed' });
    expect(agentsIn(home.root)).toEqual([]);
  }
  await using next = await hostHere(home, { survival });
  expect(next.host.recovery.rows).toEqual([]);
  const [turn] = await next.host.turns.list('one');
  const task = await next.host.tasks.get('task-one');
  return {
    turn: { state: turn?.state, outcome: turn?.outcome },
    task: { state: task?.state, interrupted: task?.interrupted },
    session: (await (await sessionOf(next, 'one')).record()).state,
  };
}

async function endedOnServer({ services }: OpenHost): Promise<void> {
  const live = services.live.get('one');
  if (live === undefined) throw new Error('the session is not live');
  const { instanceId } = live.execution;
  await until(async () => (await live.client.call('getTurn', { instanceId })).retained.length === 1, {
    reason: 'the turn to end',
    ...WITHIN,
  });
}
