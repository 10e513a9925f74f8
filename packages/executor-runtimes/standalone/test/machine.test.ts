import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { thisMachine } from '../src/machine.ts';

const { PATH = '' } = process.env;
const surroundings = { environment: { PATH, COLOUR: 'green' }, signal: new AbortController().signal };
const machine = thisMachine({ commandLimitMs: 60_000 });

describe('a command', () => {
  it('has the environment that it is given and no other, and works in no folder of ours', async () => {
    const script = 'process.stdout.write(JSON.stringify([process.cwd(), process.env]))';
    const result = await machine.run([process.execPath, '-e', script], surroundings);
    expect(result).toMatchObject({ succeeded: true, complaint: '' });
    expect(JSON.parse(result.stdout)).toEqual(['/', { PATH, COLOUR: 'green' }]);
  });

  it('that fails is a result, with what it said about it', async () => {
    const script = 'console.error("no bus"); console.log("out"); process.exitCode = 1';
    const result = await machine.run([process.execPath, '-e', script], surroundings);
    expect(result).toEqual({ succeeded: false, stdout: 'out\n', complaint: 'no bus' });
  });

  it('that fails without a word is a result too', async () => {
    const result = await machine.run([process.execPath, '-e', 'process.exitCode = 3'], surroundings);
    expect(result).toEqual({ succeeded: false, stdout: '', complaint: 'nothing, and ended with code 3' });
  });

  it('that does not exist is a result', async () => {
    // Of a folder in the PATH that may not be looked into it is not known whether it has one.
    const environment = { PATH: '/usr/bin:/bin' };
    const result = await machine.run(['no-such-program'], { ...surroundings, environment });
    expect(result).toEqual({ succeeded: false, stdout: '', complaint: 'spawn no-such-program ENOENT' });
  });

  it('that does not end is killed at the limit', async () => {
    const impatient = thisMachine({ commandLimitMs: 300 });
    const result = await impatient.run([process.execPath, '-e', 'setInterval(() => {}, 1000)'], surroundings);
    expect(result).toEqual({ succeeded: false, stdout: '', complaint: 'no answer within 300 ms' });
  });

  it('is cut by the signal', async () => {
    const closing = new AbortController();
    const run = machine.run([process.execPath, '-e', 'setInterval(() => {}, 1000)'], {
      ...surroundings,
      signal: closing.signal,
    });
    closing.abort(new Error('deadline'));
    await expect(run).rejects.toThrow('deadline');
    await expect(machine.run(['true'], { ...surroundings, signal: closing.signal })).rejects.toThrow(
      'deadline',
    );
  });
});

describe('this machine', () => {
  it('knows its user and its control group', async () => {
    expect(machine.userId).toBe(process.getuid?.() ?? null);
    const group = process.platform === 'linux' ? readFileSync('/proc/self/cgroup', 'utf8') : '';
    expect(await machine.readCgroup()).toBe(group);
  });
});
