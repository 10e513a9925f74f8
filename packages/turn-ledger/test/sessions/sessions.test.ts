import { describe, expect, it } from '@jest/globals';
import {
  LedgerInputError,
  LedgerRowError,
  openLedger,
  SessionExistsError,
  UnknownSessionError,
} from '@holdfast/turn-ledger';
import { aSession, rejection } from '../recorded-session.ts';
import { eachDatabase } from '../each-database.ts';

eachDatabase((database) => {
  describe('tasks', () => {
    it('are recorded once', async () => {
      let now = 1_000;
      await using ledger = await openLedger({ url: await database.fresh(), clock: () => now });
      const first = await ledger.tasks.ensure('fix-login');
      now = 2_000;
      expect(await ledger.tasks.ensure('fix-login')).toEqual(first);
      expect(first).toEqual({
        taskId: 'fix-login',
        state: 'in_progress',
        interrupted: false,
        failed: false,
        createdAt: '1970-01-01T00:00:01.000Z',
        updatedAt: '1970-01-01T00:00:01.000Z',
      });
      await ledger.tasks.ensure('another');
      expect((await ledger.tasks.list()).map((task) => task.taskId)).toEqual(['fix-login', 'another']);
      expect(await ledger.tasks.get('fix-login')).toEqual(first);
      expect(await ledger.tasks.get('unknown')).toBeNull();
    });
  });

  describe('sessions', () => {
    it('are recorded with their task, and read back as they were given', async () => {
      await using ledger = await openLedger({ url: await database.fresh(), clock: () => 1_000 });
      const given = aSession('s1', {
        metadata: { note: 'NUL \0, lone \uD800, ü', deep: { list: [1, null] } },
      });
      const created = await ledger.sessions.create(given);
      expect(created).toEqual({
        ...given,
        taskEnvironmentId: null,
        state: 'starting',
        providerSessionId: null,
        choices: [],
        createdAt: '1970-01-01T00:00:01.000Z',
        updatedAt: '1970-01-01T00:00:01.000Z',
      });
      expect(await ledger.sessions.get('s1')).toEqual(created);
      expect(await ledger.sessions.get('unknown')).toBeNull();
      expect(await ledger.tasks.get('s1-task')).toMatchObject({ state: 'in_progress' });
    });

    it('are listed, the oldest first, all or those of a task', async () => {
      let now = 0;
      await using ledger = await openLedger({ url: await database.fresh(), clock: () => (now += 1) });
      await ledger.sessions.create(aSession('z', { taskId: 'one' }));
      await ledger.sessions.create(aSession('m', { taskId: 'two' }));
      await ledger.sessions.create(aSession('a', { taskId: 'one' }));
      const ids = async (taskId?: string): Promise<string[]> =>
        (await ledger.sessions.list(taskId === undefined ? {} : { taskId })).map(
          (session) => session.sessionId,
        );
      expect(await ids()).toEqual(['z', 'm', 'a']);
      expect(await ids('one')).toEqual(['z', 'a']);
      expect(await ids('none')).toEqual([]);
    });

    it('change their state and provider session', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await ledger.sessions.create(aSession('s1'));
      await ledger.sessions.setState('s1', 'waiting_for_input');
      await ledger.sessions.setProviderSession('s1', 'ses_\0\uDC00');
      expect(await ledger.sessions.get('s1')).toMatchObject({
        state: 'waiting_for_input',
        providerSessionId: 'ses_\0\uDC00',
      });
      await ledger.sessions.setProviderSession('s1', null);
      expect(await ledger.sessions.get('s1')).toMatchObject({ providerSessionId: null });
    });

    it('keep what was chosen for them, in its order, and nothing else', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await ledger.sessions.create(aSession('s1'));
      const choices = [
        { kind: 'config_option', optionId: 'effort', value: 'high\0\uDC00' },
        { kind: 'mode', modeId: 'plan' },
        { kind: 'config_option', optionId: 'verbose', value: false },
        { kind: 'model', modelId: 'large' },
      ] as const;
      await ledger.sessions.setChoices('s1', choices);
      expect((await ledger.sessions.get('s1'))?.choices).toEqual(choices);
      await ledger.sessions.setChoices('s1', []);
      expect((await ledger.sessions.get('s1'))?.choices).toEqual([]);
      await rejection(ledger.sessions.setChoices('s2', []), UnknownSessionError);
      const unknown = ledger.sessions.setChoices('s1', [{ kind: 'mode', modeId: '' }]);
      expect((await rejection(unknown, LedgerInputError)).message).toMatch(/modeId/);
    });

    it('are refused when known already, and when not known', async () => {
      await using ledger = await openLedger({ url: await database.fresh() });
      await ledger.sessions.create(aSession('s1'));
      const again = ledger.sessions.create(aSession('s1', { taskId: 'never-recorded' }));
      expect(await rejection(again, SessionExistsError)).toMatchObject({
        code: 'session_exists',
        sessionId: 's1',
      });
      expect(await ledger.tasks.get('never-recorded')).toBeNull();
      const unknown = await rejection(ledger.sessions.setState('s2', 'stopped'), UnknownSessionError);
      expect(unknown).toMatchObject({ code: 'unknown_session', sessionId: 's2' });
      await rejection(ledger.sessions.setProviderSession('s2', 'p'), UnknownSessionError);
    });

    it.each([
      ['an id that is none', { sessionId: 'no spaces' }, /sessionId must be/],
      ['a path with NUL', { workspacePath: '/a\0b' }, /workspacePath must not hold NUL/],
      ['a name with a lone surrogate', { agentProfileId: 'a\uD800' }, /agentProfileId must not hold/],
    ])('are refused with %s', async (_what, change, said) => {
      await using ledger = await openLedger({ url: await database.fresh() });
      const error = await rejection(ledger.sessions.create(aSession('s1', change)), LedgerInputError);
      expect(error.message).toMatch(said);
      expect(await ledger.sessions.list()).toEqual([]);
    });

    it('say which row is not readable', async () => {
      const url = await database.fresh();
      await using ledger = await openLedger({ url });
      await ledger.sessions.create(aSession('s1'));
      await database.damage(url, "update sessions set metadata = '{broken'");
      const error = await rejection(ledger.sessions.get('s1'), LedgerRowError);
      expect(error).toMatchObject({ code: 'ledger_row', table: 'sessions', key: 's1' });
    });
  });
});
