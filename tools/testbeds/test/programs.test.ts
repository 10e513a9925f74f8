import { describe, expect, it } from '@jest/globals';
import {
  descendants,
  listProcesses,
  processIsAlive,
  runProgram,
  startProgram,
  testHome,
  until,
} from '@holdfast/testbeds';

const TIMEOUT_MS = 60_000;

describe('runProgram', () => {
  it('gives output and exit code, with the input, folder and environment it was told', async () => {
    await using home = await testHome('programs');
    const result = await runProgram(
      ['/bin/sh', '-c', 'cat; pwd; echo "$ADDED,$HOME"; echo oops >&2; exit 3'],
      {
        cwd: home.root,
        env: { ADDED: 'yes', HOME: undefined },
        input: 'in\n',
        timeoutMs: TIMEOUT_MS,
      },
    );
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      stdout: `in\n${home.root}\nyes,\n`,
      stderr: 'oops\n',
    });
  });

  it('gives output without colours, even where they are forced on the tests', async () => {
    const before = process.env['FORCE_COLOR'];
    process.env['FORCE_COLOR'] = '1';
    try {
      const command = [process.execPath, '-e', 'console.log(false)'];
      expect((await runProgram(command, { timeoutMs: 60_000 })).stdout).toBe('false\n');
    } finally {
      if (before === undefined) delete process.env['FORCE_COLOR'];
      else process.env['FORCE_COLOR'] = before;
    }
  });

  it('gives the signal that ended the program', async () => {
    const result = await runProgram(['/bin/sh', '-c', 'kill -KILL $$'], { timeoutMs: TIMEOUT_MS });
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
  });

  it('kills a program that takes too long, with what it started', async () => {
    // Nobody else sleeps as long as this.
    const sleep = `sleep ${String(100_000 + process.pid)}`;
    const error: unknown = await runProgram(['/bin/sh', '-c', `${sleep} & echo started; wait`], {
      timeoutMs: 1500,
    }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'program_timeout',
      timeoutMs: 1500,
      stdout: expect.stringMatching(/^(started\n)?$/),
    });
    expect(listProcesses().filter(({ commandLine }) => commandLine.includes(sleep))).toEqual([]);
  });

  it('throws when there is no such program', async () => {
    await expect(runProgram(['/no/such/program'], { timeoutMs: TIMEOUT_MS })).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});

describe('startProgram', () => {
  it('gives lines in order, each once, of either output', async () => {
    await using program = await startProgram(['/bin/sh', '-c', 'cat; echo bye >&2']);
    program.write('a1\nb1\na2\n');
    expect(await program.nextLine('a', { withinMs: TIMEOUT_MS })).toBe('a1');
    expect(await program.nextLine(/^a/, { withinMs: TIMEOUT_MS })).toBe('a2');
    program.write('b2\n');
    expect(await program.nextLine((line) => line !== 'a', { withinMs: TIMEOUT_MS })).toBe('b2');
    program.endInput();
    expect(await program.nextLine('bye', { withinMs: TIMEOUT_MS, from: 'stderr' })).toBe('bye');
    expect(await program.exited).toEqual({ exitCode: 0, signal: null });
    expect(program.lines()).toEqual(['a1', 'b1', 'a2', 'b2']);
    expect(program.lines('stderr')).toEqual(['bye']);
  });

  it('says what came instead of a line, at the deadline and at the end of the output', async () => {
    await using program = await startProgram(['/bin/sh', '-c', 'echo hello; echo trouble >&2; cat']);
    await until(() => program.lines().length > 0 && program.lines('stderr').length > 0, {
      reason: 'a line on either output',
      withinMs: TIMEOUT_MS,
    });
    await expect(program.nextLine('missing', { withinMs: 300 })).rejects.toThrow(
      /a line like missing on stdout[^]*It wrote:\nhello\nOn stderr:\ntrouble/,
    );
    program.write('more\n');
    program.endInput();
    await expect(program.nextLine('missing', { withinMs: TIMEOUT_MS })).rejects.toThrow(
      /ended its stdout without a line like missing[^]*It wrote:\nmore\nOn stderr:\ntrouble/,
    );
  });

  it('is killed with its whole group when left', async () => {
    const program = await startProgram(['/bin/sh', '-c', 'trap "" TERM; sleep 1000 & sleep 1000; true']);
    const pids = await until(
      () => {
        const found = descendants(program.pid);
        return found.length === 2 && [program.pid, ...found];
      },
      { reason: 'two children', withinMs: TIMEOUT_MS },
    );
    await program[Symbol.asyncDispose]();
    expect(pids.filter(processIsAlive)).toEqual([]);
    expect(await program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });
  });

  it('takes its group along even when the program itself has ended', async () => {
    const program = await startProgram(['/bin/sh', '-c', 'sleep 1000 & echo $!']);
    const child = Number(await program.nextLine(/^\d+$/, { withinMs: TIMEOUT_MS }));
    await program.exited;
    expect(processIsAlive(child)).toBe(true);
    await program[Symbol.asyncDispose]();
    expect(processIsAlive(child)).toBe(false);
  });
});
