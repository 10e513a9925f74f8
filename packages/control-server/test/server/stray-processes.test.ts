import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { processIsAlive, until, waitForExit } from '@holdfast/testbeds';
import { ManualClock } from '../support/manual-clock.ts';
import {
  InstanceOf,
  SETTINGS,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';

const PROGRAM = fileURLToPath(new URL('../fixtures/stray.ts', import.meta.url));

/** An agent that ignores SIGTERM, and about it what agents leave; `pids` reads the numbers of all there ever were. */
async function untidyAgent(
  owned: OwnedServer,
  kinds: readonly string[],
): Promise<{ instance: InstanceOf; pids: () => Promise<number[]> }> {
  const instance = await InstanceOf.create(owned);
  const { agentPid } = await instance.start();
  const file = owned.home.path('workspace', 'pids');
  const stray = (kind: string): string[] => [process.execPath, PROGRAM, kind, file];
  await instance.prompt(
    1,
    { step: 'ignoreSigterm' },
    { step: 'ignoreCancel' },
    ...kinds.map((kind) =>
      kind === 'unmarked'
        ? ({ step: 'child', command: ['env', '-i', ...stray('deaf')], ownSession: true } as const)
        : ({
            step: 'child',
            command: stray(kind),
            ownSession: kind !== 'child',
            ownOutput: kind === 'loud',
          } as const),
    ),
    { step: 'waitFor', file: 'go' },
    { step: 'crash', exitCode: 9 },
  );
  const pids = async (): Promise<number[]> =>
    (await readFile(file, 'utf8')).split('\n').slice(0, -1).map(Number).concat(agentPid);
  await until(async () => (await pids()).length > kinds.length, {
    reason: 'all of them to be there',
    withinMs: 60_000,
  });
  expect((await pids()).every((pid) => processIsAlive(pid))).toBe(true);
  return { instance, pids };
}

const alive = async (pids: () => Promise<number[]>): Promise<number[]> =>
  (await pids()).filter((pid) => processIsAlive(pid));

/** A shell that ignores SIGTERM, ends after a moment, and starts another like itself in a session of its own before. */
const PHOENIX = 'trap "" TERM; echo $$ >> "$1"; sleep 0.3; setsid sh -c "$0" "$0" "$1" &';

const KINDS = ['child', 'deaf', 'orphan', 'daemon', 'unmarked', 'hydra'] as const;

describe('nothing of an agent is left, children that ignore SIGTERM, daemons and what they start meanwhile included,', () => {
  it.each(['stopAgent', 'deleteInstance'] as const)('after %s', async (operation) => {
    await using owned = await ownedServer();
    const { instance, pids } = await untidyAgent(owned, KINDS);
    await owned.client.call(operation, { instanceId: instance.instanceId });
    expect(await alive(pids)).toEqual([]);
  });

  it('after an ownership shutdown', async () => {
    await using owned = await ownedServer();
    const { pids } = await untidyAgent(owned, KINDS);
    await owned.client.call('shutdown', {});
    expect(await owned.server.ended).toEqual({ why: 'shutdown' });
    expect(await alive(pids)).toEqual([]);
  });

  it('after an unowned shutdown', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    const { pids } = await untidyAgent(owned, KINDS);
    clock.advance(SETTINGS.unownedPeriodMs);
    const moving = setInterval(() => {
      clock.advance(20);
    }, 20);
    try {
      expect(await owned.server.ended).toEqual({ why: 'unowned' });
    } finally {
      clearInterval(moving);
    }
    expect(await alive(pids)).toEqual([]);
  });

  it('after a crash of the agent, whose children write to its output all the time', async () => {
    await using owned = await ownedServer();
    // One that has neither the marks nor a place below the agent any more is beyond finding.
    const kinds = [...KINDS.filter((kind) => kind !== 'unmarked'), 'loud'];
    const { instance, pids } = await untidyAgent(owned, kinds);
    await using stream = await instance.attach(0);
    await writeFile(owned.home.path('workspace', 'go'), '');
    const events = await readUntil(stream, isType('agent_exited'), { acknowledge: true });
    expect(textsOf(events).filter((text) => text.startsWith('child: '))).toHaveLength(kinds.length);
    expect(events.find(isType('turn_ended'))?.event).toMatchObject({
      outcome: { stopReason: 'agent_exited' },
    });
    expect(events.at(-1)?.event).toMatchObject({ code: 9, expected: false });
    await instance.untilIt('the agent to be forgotten', ({ agentPid: pid }) => pid === null);
    expect(await alive(pids)).toEqual([]);
  });

  it.each(['stopAgent', 'deleteInstance'] as const)(
    'after %s, of those neither who end by themselves and start another before that',
    async (operation) => {
      await using owned = await ownedServer();
      const instance = await InstanceOf.create(owned);
      await instance.start();
      const file = owned.home.path('workspace', 'pids');
      const command = ['sh', '-c', PHOENIX, PHOENIX, file];
      await instance.prompt(1, { step: 'child', command, ownSession: true }, { step: 'silence' });
      const pids = async (): Promise<number[]> =>
        (await readFile(file, 'utf8')).split('\n').slice(0, -1).map(Number);
      await until(async () => (await pids().catch(() => [])).length > 1, {
        reason: 'one of them to have started another',
        withinMs: 30_000,
      });
      await owned.client.call(operation, { instanceId: instance.instanceId });
      expect(await alive(pids)).toEqual([]);
    },
  );

  it('before another agent starts, however soon after the end of one that is asked for', async () => {
    await using owned = await ownedServer();
    const { instance, pids } = await untidyAgent(owned, ['deaf']);
    await using stream = await instance.attach(0);
    const before = await pids();
    await writeFile(owned.home.path('workspace', 'go'), '');
    await readUntil(stream, isType('agent_exited'));
    // The child has its grace now.
    await instance.start();
    expect(before.filter((pid) => processIsAlive(pid))).toEqual([]);
    expect((await instance.describe()).status).toBe('ready');
  });

  it('but what cannot be found; the end of the agent does not wait for that', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const file = owned.home.path('workspace', 'pids');
    const command = ['env', '-i', process.execPath, PROGRAM, 'flood', file];
    await instance.prompt(
      1,
      { step: 'child', command, ownSession: true, ownOutput: true },
      { step: 'waitFor', file: 'pids' },
      { step: 'crash', exitCode: 9 },
    );
    const events = await readUntil(stream, isType('agent_exited'));
    const pid = Number(/^child: (\d+)$/.exec(textsOf(events)[0] ?? '')?.[1]);
    await instance.untilIt('the agent to be forgotten', ({ agentPid }) => agentPid === null);
    expect(processIsAlive(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    await waitForExit(pid, { withinMs: 60_000, reason: 'it was killed' });
  });
});
