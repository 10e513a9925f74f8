import { describe, expect, it } from '@jest/globals';
import {
  ConditionNotMetError,
  descendants,
  listProcesses,
  processIsAlive,
  processStartTime,
  signalProcess,
  startProgram,
  until,
  waitForExit,
} from '@holdfast/testbeds';

const IDLE = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];

describe('a process', () => {
  it.each([null, undefined, 0, 1, -1])('that is %p is sent no signal', (pid) => {
    expect(() => {
      signalProcess(pid, 'SIGKILL');
    }).toThrow(`${String(pid)} is no process to send SIGKILL to.`);
  });

  it('is alive with a start time of its own until it ends', async () => {
    await using program = await startProgram(IDLE);
    const { pid } = program;
    expect(processIsAlive(pid)).toBe(true);
    expect(processStartTime(pid)).toEqual(processStartTime(pid));
    expect(processStartTime(pid)).not.toEqual(processStartTime(process.pid));
    expect(listProcesses().find((entry) => entry.pid === pid)).toMatchObject({
      parentPid: process.pid,
      groupId: pid,
      commandLine: IDLE.join(' '),
    });
    program.kill('SIGTERM');
    await waitForExit(pid, { withinMs: 60_000, reason: 'it got SIGTERM' });
    expect(processIsAlive(pid)).toBe(false);
    expect(processStartTime(pid)).toBeUndefined();
  });

  it('that does not end in time is named together with the reason', async () => {
    await using program = await startProgram(IDLE);
    const waiting = waitForExit(program.pid, { withinMs: 50, reason: 'it should' });
    await expect(waiting).rejects.toThrow(ConditionNotMetError);
    await expect(waiting).rejects.toThrow(`process ${String(program.pid)} to end (it should)`);
  });

  it('that nobody waited for has ended', async () => {
    // The shell becomes a `sleep`, which never collects the child it inherits: the child stays a zombie.
    await using program = await startProgram(['/bin/sh', '-c', 'sleep 0 & echo $!; exec sleep 1000']);
    const zombie = Number(await program.nextLine(/^\d+$/, { withinMs: 60_000 }));
    await waitForExit(zombie, { withinMs: 60_000, reason: 'it had nothing to do' });
    expect(processIsAlive(zombie)).toBe(false);
  });

  it('has descendants down to the last', async () => {
    await using program = await startProgram(['/bin/sh', '-c', `sh -c 'sleep 1000; true' & wait`]);
    const found = await until(
      () => {
        const pids = descendants(program.pid);
        return pids.length === 2 && pids;
      },
      { reason: 'a child and a grandchild', withinMs: 60_000 },
    );
    const parents = found.map((pid) => listProcesses().find((entry) => entry.pid === pid)?.parentPid);
    expect(parents).toEqual([program.pid, found[0]]);
  });
});
