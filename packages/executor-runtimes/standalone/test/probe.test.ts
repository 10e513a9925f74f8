import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startProgram, waitForExit, type StartedProgram } from '@holdfast/testbeds';
import { localProcesses, type LocalProcesses } from '../src/local-processes.ts';
import { identifyProcess, probeProcess } from '../src/probe.ts';

const here = localProcesses(process.platform);
const MARK = `instance-of-${String(process.pid)}`;

let program: StartedProgram;

beforeEach(async () => {
  program = await startProgram([process.execPath, '-e', 'setInterval(() => undefined, 1000)'], {
    env: { HOLDFAST_INSTANCE_ID: MARK },
  });
});

afterEach(async () => {
  await program[Symbol.asyncDispose]();
});

async function endProgram(): Promise<void> {
  process.kill(program.pid, 'SIGKILL');
  await program.exited;
  await waitForExit(program.pid, { withinMs: 60_000, reason: 'it was killed' });
}

describe('the process of a row', () => {
  it('runs, and has ended after that [SURVIVAL-003.6]', async () => {
    const agentProcess = await identifyProcess(here, program.pid);
    expect(agentProcess).toEqual({ pid: program.pid, startTime: expect.any(String) });
    expect(await identifyProcess(here, program.pid)).toEqual(agentProcess);
    const row = { agentProcess, instanceId: 'another' };
    expect(await probeProcess(here, row)).toMatchObject({ process: 'running' });
    await endProgram();
    expect(await probeProcess(here, row)).toMatchObject({ process: 'ended' });
    expect(await identifyProcess(here, program.pid)).toBeNull();
  });

  it('has ended when another process has its pid by now [SURVIVAL-003.6]', async () => {
    const found = await identifyProcess(here, program.pid);
    const agentProcess = { pid: program.pid, startTime: `${found?.startTime ?? ''}0` };
    expect(await probeProcess(here, { agentProcess, instanceId: 'another' })).toEqual({
      process: 'ended',
      detail: `its agent, process ${String(program.pid)}, has ended; another process has its pid`,
    });
  });

  it('has ended when the machine was started again since', async () => {
    if (process.platform !== 'linux') return;
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const startTime = (await identifyProcess(here, program.pid))?.startTime.replace(
      bootId,
      'an earlier boot',
    );
    const agentProcess = { pid: program.pid, startTime: startTime ?? '' };
    expect(await probeProcess(here, { agentProcess, instanceId: 'another' })).toMatchObject({
      process: 'ended',
    });
  });

  it('is found by the mark of its instance where it was never written down', async () => {
    const row = { agentProcess: null, instanceId: MARK };
    if (process.platform !== 'linux') return;
    expect(await probeProcess(here, row)).toEqual({
      process: 'running',
      detail: `processes carry the mark of its instance: ${String(program.pid)}`,
    });
    await endProgram();
    expect(await probeProcess(here, row)).toMatchObject({ process: 'ended' });
  });

  it('is a doubt where this machine cannot tell', async () => {
    const blind: LocalProcesses = {
      startTime: async () => await Promise.resolve('unknown'),
      startedWith: async () => await Promise.resolve(null),
    };
    const agentProcess = { pid: program.pid, startTime: 'some time' };
    for (const row of [
      { agentProcess, instanceId: MARK },
      { agentProcess: null, instanceId: MARK },
    ]) {
      expect(await probeProcess(blind, row)).toMatchObject({ process: 'unknown' });
    }
    expect(await identifyProcess(blind, program.pid)).toBeNull();
  });

  it('is told by ps as well', async () => {
    const ps = localProcesses('darwin');
    const agentProcess = await identifyProcess(ps, program.pid);
    // Where there is no ps a doubt remains.
    if (agentProcess === null) return;
    expect(await probeProcess(ps, { agentProcess, instanceId: MARK })).toMatchObject({ process: 'running' });
    await endProgram();
    expect(await probeProcess(ps, { agentProcess, instanceId: MARK })).toMatchObject({ process: 'ended' });
  });
});
