import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, testHome, waitForExit, type TestHome } from '@holdfast/testbeds';
import { openLedger } from '@holdfast/turn-ledger';
import { Backend } from '../fixtures/backend-driver.ts';
import { agentsIn } from '../fixtures/situations.ts';
import { changeSecret, leaveSurvivor } from '../fixtures/survivor.ts';

const LONG_MS = 300_000;
const ENDS = { withinMs: 60_000 };

describe('a survivor that is found with survival switched off', () => {
  it(
    'is stopped with its agents when it proves to be own; its sessions can be resumed [SURVIVAL-005.5]',
    async () => {
      await using home = await testHome('own-survivor');
      await using survivor = await leaveSurvivor(home);
      await using backend = await Backend.ready(home, { survival: 'off' });
      await waitForExit(survivor.agent, { ...ENDS, reason: 'the agent to be stopped' });
      await waitForExit(survivor.server, { ...ENDS, reason: 'the server to be stopped' });
      const { rows, scopes, report } = await backend.waitForReady();
      expect(scopes).toMatchObject([{ server: 'started', refusal: null }]);
      expect(report).toContain('survival: disabled');
      expect(report).toContain('survivor of the last backend: stopped');
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'no_instance' } }]);
      expect(namesOf(backend)).not.toContain('session.retracked');
      expect((await backend.do('turns', 'one'))[0]).toMatchObject({ state: 'abandoned' });
      expect(await backend.do('outcome', await backend.prompt('one', 'go on'))).toMatchObject({
        kind: 'completed',
      });
      expect(backend.published()).toContainEqual({
        name: 'session.restarted',
        sessionId: 'one',
        history: 'loaded',
      });
      await backend.close('keep');
      expect(agentsIn(home.root)).toEqual([]);
    },
    LONG_MS,
  );

  it.each<[string, string, (home: TestHome) => Promise<void>]>([
    [
      'its secret is another’s',
      'authentication_failure',
      async (home) => {
        await changeSecret(home, JSON.stringify({ version: 1, secret: 'A'.repeat(43) }));
      },
    ],
    [
      'its secret cannot be read',
      'credential_unavailable',
      async (home) => {
        await changeSecret(home, 'not a secret');
      },
    ],
    [
      'the record names another server',
      'identity_mismatch',
      async (home) => {
        await changeRecord(home, 'another-server');
      },
    ],
  ])(
    'is left alone when it cannot be proven own: %s [SURVIVAL-005.5]',
    async (_, reason, tamper) => {
      await using home = await testHome('doubtful-survivor');
      await using survivor = await leaveSurvivor(home);
      await tamper(home);
      await using backend = await Backend.ready(home, { survival: 'off' });
      const { scopes, rows } = await backend.waitForReady();
      expect(scopes).toMatchObject([{ server: 'started', refusal: reason }]);
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'adoption_refused', reason } }]);
      await backend.close('keep');
      expect([survivor.server, survivor.agent].map((pid) => processIsAlive(pid))).toEqual([true, true]);
    },
    LONG_MS,
  );
});

describe('an adoption that is refused', () => {
  it(
    'leaves nothing that is reported as recovered [SURVIVAL-005.6]',
    async () => {
      await using home = await testHome('refused');
      await using survivor = await leaveSurvivor(home);
      await changeSecret(home, 'not a secret');
      await using backend = await Backend.ready(home);
      const { scopes, rows, report } = await backend.waitForReady();
      const reason = 'credential_unavailable';
      expect(scopes).toMatchObject([{ server: 'started', refusal: reason }]);
      expect(rows).toEqual([{ sessionId: 'one', outcome: { kind: 'adoption_refused', reason } }]);
      expect(report).toContain('0 of 1 re-tracked');
      expect(namesOf(backend)).toEqual(expect.arrayContaining(['adoption.refused', 'ownership.started']));
      expect(namesOf(backend)).not.toContain('session.retracked');
      expect(namesOf(backend)).not.toContain('adoption.adopted');
      expect(await backend.do('instance', 'one')).toBeNull();
      expect([survivor.server, survivor.agent].map((pid) => processIsAlive(pid))).toEqual([true, true]);
      await backend.close('stop');
    },
    LONG_MS,
  );
});

describe('a change of the switch', () => {
  it(
    'takes effect at the next start, there and back [SURVIVAL-005.7, SURVIVAL-005.2]',
    async () => {
      await using home = await testHome('switch');
      const given = (value: string | undefined): Parameters<typeof Backend.ready>[1] => ({
        survival: undefined,
        environment: { ...process.env, KANDEV_FEATURE_AGENT_SURVIVAL: value },
      });
      const state = async (backend: Backend): Promise<unknown> => (await backend.waitForReady()).survival;
      let kept: number;
      {
        await using on = await Backend.ready(home, given('on'));
        expect(await state(on)).toEqual({ state: 'enabled' });
        kept = (await on.create(home, 'one')).agentPid ?? 0;
        await on.kill();
        expect(processIsAlive(kept)).toBe(true);
      }
      let bound: number;
      {
        await using off = await Backend.ready(home, given(undefined));
        expect(await state(off)).toEqual({ state: 'disabled' });
        await waitForExit(kept, { ...ENDS, reason: 'the agent that had been kept' });
        bound = (await off.create(home, 'two')).agentPid ?? 0;
        await off.kill();
        await waitForExit(bound, { ...ENDS, reason: 'the agent to die with its backend' });
      }
      await using again = await Backend.ready(home, given('on'));
      expect(await state(again)).toEqual({ state: 'enabled' });
      expect((await again.waitForReady()).scopes).toMatchObject([{ server: 'started' }]);
      const last = (await again.create(home, 'three')).agentPid ?? 0;
      await again.close('keep');
      expect(processIsAlive(last)).toBe(true);
      await using end = await Backend.ready(home, given('on'));
      expect((await end.instance('three')).agentPid).toBe(last);
      await end.close('stop');
    },
    LONG_MS,
  );
});

describe('a platform on which nothing can survive', () => {
  it(
    'is reported with its reason, and switching survival on changes nothing [SURVIVAL-005.4]',
    async () => {
      await using home = await testHome('windows');
      await using backend = await Backend.ready(home, { survival: 'on', platform: 'win32' });
      const { survival, report } = await backend.waitForReady();
      expect(survival).toEqual({ state: 'unavailable', reason: 'platform_windows' });
      expect(report).toContain('survival: unavailable (platform_windows)');
      expect(backend.published()[0]).toEqual({ name: 'survival.capability', survival });
      const agentPid = (await backend.create(home, 'one')).agentPid ?? 0;
      await backend.kill();
      await waitForExit(agentPid, { ...ENDS, reason: 'the agent to die with its backend' });
    },
    LONG_MS,
  );
});

describe('passthrough sessions', () => {
  it(
    'are neither guarded nor re-tracked, by what their rows say; a mode that cannot be read is guarded [SURVIVAL-005.3]',
    async () => {
      await using home = await testHome('passthrough');
      const sessions = ['managed', 'passthrough', 'unreadable'];
      const agents = new Map<string, number>();
      {
        await using first = await Backend.ready(home);
        for (const sessionId of sessions) {
          agents.set(sessionId, (await first.create(home, sessionId)).agentPid ?? 0);
        }
        await first.kill();
      }
      {
        const ledger = new DatabaseSync(home.path('home', 'ledger.db'));
        ledger.exec('pragma ignore_check_constraints = on');
        ledger.exec(`update sessions set mode = 'passthrough' where session_id = 'passthrough'`);
        ledger.exec(`update sessions set mode = 'scribbled over' where session_id = 'unreadable'`);
        ledger.close();
      }
      await using second = await Backend.ready(home, { launchWhileRecovering: sessions });
      // A row that cannot be read is told, and keeps nobody else from coming back.
      expect(second.published()).toContainEqual(
        expect.objectContaining({
          name: 'host.error',
          error: expect.objectContaining({ code: 'ledger_row' }),
        }),
      );
      // Guarded are those of which a refused launch is told as theirs; the host itself is not there yet for any.
      expect(second.refused()).toHaveLength(3);
      const guarded = second
        .published()
        .flatMap((event) => (event.name === 'launch.refused' ? [event.sessionId] : []));
      expect(guarded).toEqual(['managed', 'unreadable']);
      expect(
        second.published().flatMap((event) => (event.name === 'session.retracked' ? [event.sessionId] : [])),
      ).toEqual(['managed']);
      expect(second.published()).toContainEqual(
        expect.objectContaining({ name: 'instance.stopped', sessionId: 'passthrough', why: 'passthrough' }),
      );
      await waitForExit(agents.get('passthrough') ?? 0, { ...ENDS, reason: 'the passthrough agent' });
      expect(processIsAlive(agents.get('managed') ?? 0)).toBe(true);
      expect(await second.do('instance', 'passthrough')).toBeNull();
      expect((await second.instance('managed')).agentPid).toBe(agents.get('managed'));
      await second.close('stop');
    },
    LONG_MS,
  );
});

async function changeRecord(home: TestHome, serverId: string): Promise<void> {
  await using ledger = await openLedger({ url: home.path('home', 'ledger.db') });
  const record = await ledger.controlServers.read('standalone');
  if (record !== null) await ledger.controlServers.write({ ...record, serverId });
}

function namesOf(backend: Backend): string[] {
  return backend.published().map(({ name }) => name);
}
