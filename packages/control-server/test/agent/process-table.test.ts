import { describe, expect, it } from '@jest/globals';
import { startProgram, testHome } from '@holdfast/testbeds';
import { takeSnapshot } from '../../src/agent/process-table.ts';

const SLEEPER = [process.execPath, '-e', 'console.log("up"); setInterval(() => {}, 1000)'];

describe('a snapshot of the processes', () => {
  it('is shared by those who ask in the same turn, and never older than the question', async () => {
    await using home = await testHome('snapshot');
    const [one, two] = await Promise.all([takeSnapshot(), takeSnapshot()]);
    expect(one).toBe(two);
    await using program = await startProgram(SLEEPER, {
      cwd: home.root,
      env: { HOLDFAST_INSTANCE_ID: 'i1', HOLDFAST_SERVER_ID: 'x1', NODE_OPTIONS: undefined },
    });
    await program.nextLine('up', { withinMs: 60_000 });
    const later = await takeSnapshot();
    expect(one.all.map(({ pid }) => pid)).not.toContain(program.pid);
    expect(later.all.map(({ pid }) => pid)).toContain(program.pid);
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('knows the marks with which a process was started, all of those asked for', async () => {
    await using home = await testHome('marks');
    await using program = await startProgram(SLEEPER, {
      cwd: home.root,
      env: { HOLDFAST_INSTANCE_ID: home.root, HOLDFAST_SERVER_ID: 'x1', NODE_OPTIONS: undefined },
    });
    await program.nextLine('up', { withinMs: 60_000 });
    const snapshot = await takeSnapshot();
    const pids = (...marks: string[]): number[] => snapshot.startedWith(marks).map(({ pid }) => pid);
    const mark = `HOLDFAST_INSTANCE_ID=${home.root}`;
    expect(pids(mark, 'HOLDFAST_SERVER_ID=x1')).toEqual([program.pid]);
    expect(pids(mark, 'HOLDFAST_SERVER_ID=another')).toEqual([]);
    expect(pids('HOLDFAST_INSTANCE_ID=nobody')).toEqual([]);
  });
});
