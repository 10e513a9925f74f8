import { describe, expect, it } from '@jest/globals';
import { script } from '@holdfast/scripted-agent';
import { testHome, until } from '@holdfast/testbeds';
import { systemClock, type Clock } from '@holdfast/recovery';
import { cancelTurn } from '../../src/sessions/cancel-turn.ts';
import { OpenHost } from '../fixtures/open-host.ts';
import { touch } from '../fixtures/situations.ts';

const LONG_MS = 300_000;
const WITHIN = { withinMs: 60_000 };
const SILENT = script({ step: 'silence' });
const STUBBORN = script({ step: 'ignoreCancel' }, { step: 'silence' });

describe('what follows the end of a prompt', () => {
  it(
    'is decided once its outcome is durable, under the guard, and may prompt the session again [GENERATION-08]',
    async () => {
      await using home = await testHome('complete');
      const seen: string[] = [];
      await using host: OpenHost = await OpenHost.open(home, {
        onTurnComplete: async ({ turn }, session) => {
          seen.push(`${turn.state} ${String(turn.promptGeneration)}`);
          seen.push(host.services.sessionGuard.isHeld(session.id) ? 'guarded' : 'free');
          if (turn.promptGeneration < 3) await session.prompt('and on');
        },
      });
      const session = await host.create('one');
      await session.prompt('go');
      await until(() => seen.length === 6, { reason: 'three turns to be followed up', ...WITHIN });
      expect(seen).toEqual(['completed 1', 'guarded', 'completed 2', 'guarded', 'completed 3', 'guarded']);
      expect(await host.ledger.turns.list('one')).toHaveLength(3);
    },
    LONG_MS,
  );

  it(
    'goes on after a callback that throws, which is told [GENERATION-08]',
    async () => {
      await using home = await testHome('throws');
      await using host = await OpenHost.open(home, {
        onTurnComplete: () => {
          throw new Error('a mistake');
        },
      });
      const session = await host.create('one');
      await (
        await session.prompt('go')
      ).outcome;
      await until(() => host.heard('host.error').length === 1, {
        reason: 'the mistake to be told',
        ...WITHIN,
      });
      expect(host.heard('host.error')).toMatchObject([{ error: { message: 'a mistake' } }]);
      expect(await (await session.prompt('again')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );

  it(
    'keeps calls of its session waiting while a callback does not return, but for a cancel and a stop',
    async () => {
      await using home = await testHome('hangs');
      const { promise: returning, resolve: letReturn } = Promise.withResolvers<void>();
      await using host: OpenHost = await OpenHost.open(home, {
        onTurnComplete: async ({ turn }, session) => {
          if (turn.promptGeneration > 1) return;
          await session.prompt(SILENT);
          await returning;
        },
      });
      const session = await host.create('one');
      await session.prompt('go');
      const silent = await until(
        async () =>
          (await host.ledger.turns.list('one')).find(({ promptGeneration }) => promptGeneration === 2),
        { reason: 'the callback to prompt', ...WITHIN },
      );
      const giveUp = new AbortController();
      const waiting = session.prompt('and I?', { signal: giveUp.signal });
      expect(await session.cancel()).toBe(true);
      expect(await host.services.results.wait(silent.turnId)).toMatchObject({ kind: 'cancelled' });
      await session.stop();
      expect(await session.record()).toMatchObject({ state: 'stopped' });
      giveUp.abort(new Error('no longer'));
      await expect(waiting).rejects.toThrow('no longer');
      letReturn();
      expect(await (await session.prompt('go on')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );

  it(
    'tells that an execution has come up before the call that made it returns [GENERATION-10]',
    async () => {
      await using home = await testHome('boot');
      await using host = await OpenHost.open(home);
      await host.create('one');
      const { executionId } = host.services.live.get('one')?.execution ?? {};
      expect(host.heard('session.ready')).toEqual([
        { name: 'session.ready', sessionId: 'one', executionId, promptGeneration: 0, after: 'boot' },
      ]);
      expect(host.completed).toEqual([]);
    },
    LONG_MS,
  );
});

describe('a prompt that waits for the running one', () => {
  it(
    'is sent when that has ended, in the order of asking; one that is withdrawn never [GENERATION-08]',
    async () => {
      await using home = await testHome('next');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const running = await session.prompt(script({ step: 'waitFor', file: home.path('go') }));
      const withdrawal = new AbortController();
      const first = session.promptNext('first');
      const second = session.promptNext('second', { signal: withdrawal.signal });
      const third = session.promptNext('third');
      withdrawal.abort(new Error('changed my mind'));
      await expect(second).rejects.toThrow('changed my mind');
      expect(await host.ledger.turns.list('one')).toHaveLength(1);

      await touch(home.path('go'));
      const next = await first;
      expect(await next.outcome).toMatchObject({ kind: 'completed' });
      expect(await (await third).outcome).toMatchObject({ kind: 'completed' });
      const turns = await host.ledger.turns.list('one');
      expect(turns.map(({ content }) => content[0]?.['text']).slice(1)).toEqual(['first', 'third']);
      await until(() => host.completed.length === 3, { reason: 'three turns to be followed up', ...WITHIN });
      expect(host.completed.map((ended) => [ended.turn.turnId, ended.next?.id])).toEqual([
        [running.id, next.id],
        [next.id, (await third).id],
        [(await third).id, undefined],
      ]);
      // Nothing runs now, so this one need not wait.
      expect(await (await session.promptNext('last')).outcome).toMatchObject({ kind: 'completed' });
    },
    LONG_MS,
  );

  it(
    'is sent although the turn before it failed, and rejects when its session is stopped',
    async () => {
      await using home = await testHome('after-failure');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      await session.prompt(script({ step: 'waitFor', file: home.path('go') }, { step: 'crash' }));
      const next = session.promptNext(SILENT);
      await touch(home.path('go'));
      const turn = await next;
      expect(host.heard('turn.outcome')).toMatchObject([{ outcome: { stopReason: 'agent_exited' } }]);
      const never = session.promptNext('never');
      const stopping = session.stop();
      await expect(never).rejects.toMatchObject({ code: 'session_not_live' });
      await stopping;
      expect(await turn.outcome).toMatchObject({ kind: 'cancelled', stopReason: 'agent_stopped' });
    },
    LONG_MS,
  );
});

describe('a prompt that its control server refuses', () => {
  it(
    'has used its number up: the next one goes on above it, and nothing follows the refused one [GENERATION-03]',
    async () => {
      await using home = await testHome('refused');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const live = host.services.live.get('one');
      if (live === undefined) throw new Error('the session is not live');
      const { instanceId } = live.execution;
      // Somebody else has prompted the instance, so that its numbers are ahead of those of this host.
      const content = [{ type: 'text', text: 'not of this host' }];
      await live.client.call('prompt', { instanceId, promptGeneration: 2, content });
      await until(
        async () => {
          const { activeTurnId, retainedOutcomes } = await live.instance();
          return activeTurnId === null && retainedOutcomes === 0;
        },
        { reason: 'the end of that prompt to be dealt with', ...WITHIN },
      );
      await expect(session.prompt('one')).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(session.prompt('two')).rejects.toMatchObject({ code: 'invalid_request' });
      expect(live.lifecycle.state).toEqual({ promptGeneration: 2, active: null, status: 'ready' });
      const turn = await session.prompt('three');
      expect(await turn.outcome).toMatchObject({ kind: 'completed' });
      expect(
        (await host.ledger.turns.list('one')).map(({ promptGeneration, state }) => [promptGeneration, state]),
      ).toEqual([
        [1, 'failed'],
        [2, 'failed'],
        [3, 'completed'],
      ]);
      await until(() => host.completed.length > 0, { reason: 'the turn to be followed up', ...WITHIN });
      expect(host.completed).toMatchObject([{ turn: { turnId: turn.id } }]);
    },
    LONG_MS,
  );
});

describe('a prompt that replaces the running one', () => {
  it(
    'is accepted under the hold that cancels, which ends there; the end of the first is stale then [GENERATION-02, GENERATION-08, GENERATION-11]',
    async () => {
      await using home = await testHome('replace');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const first = await session.prompt(SILENT);
      const replacing = session.prompt(script({ step: 'waitFor', file: home.path('go') }), { replace: true });
      // Asked for while the other waits for the cancel: it does not come in between.
      const between = session.prompt('in between');
      const second = await replacing;
      await expect(between).rejects.toMatchObject({ code: 'turn_in_progress' });
      expect(await first.outcome).toMatchObject({ kind: 'cancelled' });
      // The guard is free although the replacement runs.
      expect(await host.services.sessionGuard.hold('one', () => 'free')).toBe('free');
      expect(host.completed).toEqual([]);
      expect(await host.ledger.turns.list('one')).toMatchObject([
        { turnId: first.id, promptGeneration: 1, state: 'cancelled' },
        { turnId: second.id, promptGeneration: 2, state: 'running' },
      ]);
      const [, ended] = host.heard('session.ready');
      expect(ended).toMatchObject({ promptGeneration: 1, after: 'prompt' });
      expect(ended !== undefined && host.sessions.isCurrent(ended)).toBe(false);

      await touch(home.path('go'));
      await second.outcome;
      await until(() => host.completed.length > 0, {
        reason: 'the replacement to be followed up',
        ...WITHIN,
      });
      expect(host.completed).toMatchObject([{ turn: { turnId: second.id }, next: null }]);
      const [, , last] = host.heard('session.ready');
      expect(last !== undefined && host.sessions.isCurrent(last)).toBe(true);
    },
    LONG_MS,
  );

  it(
    'replaces nothing where nothing runs',
    async () => {
      await using home = await testHome('replace-none');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      expect(await (await session.prompt('go', { replace: true })).outcome).toMatchObject({
        kind: 'completed',
      });
    },
    LONG_MS,
  );
});

describe('a cancel that the agent does not answer', () => {
  it(
    'ends the turn at the limit, stops the agent, and is told when the guard is free [GENERATION-04, GENERATION-10]',
    async () => {
      await using home = await testHome('unanswered');
      await using host = await OpenHost.open(home, { cancelLimitMs: 300 });
      const session = await host.create('one');
      const pid = (await session.instance())?.agentPid;
      const turn = await session.prompt(STUBBORN);
      const free: string[] = [];
      host.services.ready.subscribe(async ({ sessionId, kind }) => {
        // It takes the guard within its call, as the orchestrator does.
        if (kind === 'prompt_ended')
          free.push(await host.services.sessionGuard.hold(sessionId, () => 'through'));
      });
      expect(await session.cancel()).toBe(true);
      expect(await turn.outcome).toEqual({ kind: 'cancelled', stopReason: 'cancel_unanswered' });
      await until(() => host.completed.length === 1, { reason: 'the turn to be followed up', ...WITHIN });
      expect(host.completed).toMatchObject([{ turn: { turnId: turn.id, state: 'cancelled' } }]);
      expect(free).toEqual(['through']);
      expect(await session.record()).toMatchObject({ state: 'waiting_for_input' });

      // What the server says about that turn, now that its agent is gone, changes nothing.
      expect(await (await session.prompt('again')).outcome).toMatchObject({ kind: 'completed' });
      expect((await session.instance())?.agentPid).not.toBe(pid);
      expect(host.heard('turn.outcome')).toHaveLength(2);
      expect(await host.ledger.turns.list('one')).toMatchObject([
        { outcome: { stopReason: 'cancel_unanswered' } },
        { state: 'completed' },
      ]);
      await until(async () => (await session.instance())?.retainedOutcomes === 0, {
        reason: 'both outcomes to be acknowledged',
        ...WITHIN,
      });
    },
    LONG_MS,
  );

  it(
    'lets a replacement be accepted under the same hold, and only then tells of the end [GENERATION-10, GENERATION-11]',
    async () => {
      await using home = await testHome('replace-stubborn');
      await using host = await OpenHost.open(home, { cancelLimitMs: 300 });
      const session = await host.create('one');
      const first = await session.prompt(STUBBORN);
      const told: Array<readonly [number, number | undefined]> = [];
      host.services.ready.subscribe(({ kind, promptGeneration }) => {
        if (kind === 'boot') return;
        told.push([promptGeneration, host.services.live.get('one')?.lifecycle.state.promptGeneration]);
      });
      const second = await session.prompt('instead', { replace: true });
      expect(await second.outcome).toMatchObject({ kind: 'completed' });
      await until(() => host.completed.length === 1, {
        reason: 'the replacement to be followed up',
        ...WITHIN,
      });
      expect(await first.outcome).toEqual({ kind: 'cancelled', stopReason: 'cancel_unanswered' });
      // The end of the first was told while the second was there already; an ordinary end is told at once.
      expect(told).toContainEqual([1, 2]);
      expect(host.completed).toMatchObject([{ turn: { turnId: second.id } }]);
    },
    LONG_MS,
  );

  it(
    'nor the control server: the turn is over for this host, and the server is heard when it answers again [GENERATION-10]',
    async () => {
      await using home = await testHome('silent-server');
      await using host = await OpenHost.open(home, { cancelLimitMs: 300 });
      const session = await host.create('one');
      const turn = await session.prompt(SILENT);
      const { serverPid } = host;
      process.kill(serverPid, 'SIGSTOP');
      try {
        expect(await session.cancel()).toBe(true);
        expect(await turn.outcome).toEqual({ kind: 'cancelled', stopReason: 'cancel_unanswered' });
      } finally {
        process.kill(serverPid, 'SIGCONT');
      }
      await until(async () => (await session.instance())?.activeTurnId === null, {
        reason: 'the server to take the cancel that it was sent',
        ...WITHIN,
      });
      expect(await (await session.prompt('again')).outcome).toMatchObject({ kind: 'completed' });
      expect(host.heard('turn.outcome')).toHaveLength(2);
    },
    LONG_MS,
  );

  it(
    'is given the time that the host is told, above that of its control server unless told [GENERATION-10]',
    async () => {
      await using home = await testHome('limit');
      await using host = await OpenHost.open(home);
      const session = await host.create('one');
      const turn = await session.prompt(STUBBORN);
      const live = host.services.live.get('one');
      if (live === undefined) throw new Error('the session is not live');
      const timers: Array<{ readonly delayMs: number; readonly action: () => void }> = [];
      let disarmed = 0;
      const clock: Clock = {
        ...systemClock,
        after: (delayMs, action) => {
          timers.push({ delayMs, action });
          return () => (disarmed += 1);
        },
      };
      const services = { ...host.services, clock };
      const cancelling = services.sessionGuard.hold('one', async (held) => {
        await cancelTurn(services, live, held, services.closed);
        return live.lifecycle.state.status;
      });
      expect(timers.map(({ delayMs }) => delayMs)).toEqual([35_000]);
      // Nothing ends before the time is up.
      await session.permissions.list();
      expect(live.lifecycle.state.status).toBe('running');
      timers[0]?.action();
      expect(await cancelling).toBe('ready');
      expect(await turn.outcome).toMatchObject({ stopReason: 'cancel_unanswered' });

      // A cancel that is answered leaves no timer.
      await session.prompt(SILENT);
      const answered = services.sessionGuard.hold(
        'one',
        async (held) => await cancelTurn(services, live, held, services.closed),
      );
      expect(await answered).toBe(true);
      expect([timers.length, disarmed]).toEqual([2, 2]);
    },
    LONG_MS,
  );

  it(
    'can be left alone by who asked for it; the turn goes on to its own end',
    async () => {
      await using home = await testHome('leave-cancel');
      await using host = await OpenHost.open(home, { cancelLimitMs: 5_000 });
      const session = await host.create('one');
      const turn = await session.prompt(
        script({ step: 'ignoreCancel' }, { step: 'waitFor', file: home.path('go') }),
      );
      const impatient = new AbortController();
      const cancelling = session.cancel({ signal: impatient.signal });
      impatient.abort(new Error('no time'));
      await expect(cancelling).rejects.toThrow('no time');
      await touch(home.path('go'));
      expect(await turn.outcome).toMatchObject({ stopReason: 'end_turn' });
    },
    LONG_MS,
  );

  it(
    'is over at once when the session is stopped meanwhile',
    async () => {
      await using home = await testHome('stop-cancel');
      await using host = await OpenHost.open(home, { cancelLimitMs: 3_600_000 });
      const session = await host.create('one');
      const turn = await session.prompt(STUBBORN);
      const cancelling = session.cancel();
      const busy = Promise.withResolvers<void>();
      const another = host.services.sessionGuard.hold('one', async () => {
        await busy.promise;
      });
      // This one has not begun when the stop is asked for.
      const cancellingLater = session.cancel();
      const stopping = session.stop();
      expect(await cancelling).toBe(true);
      busy.resolve();
      await Promise.all([another, stopping]);
      expect(await cancellingLater).toBe(true);
      expect(await turn.outcome).toMatchObject({ kind: 'cancelled', stopReason: 'agent_stopped' });
    },
    LONG_MS,
  );
});
