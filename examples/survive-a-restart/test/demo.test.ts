import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { listProcesses, runProgram, testHome, until } from '@holdfast/testbeds';
import type { SessionResult } from '../src/messages.ts';
import type { DemoSession } from '../src/scenario.ts';
import { judge, type Evidence } from '../src/verdict.ts';

const DEMO = fileURLToPath(new URL('../src/main.ts', import.meta.url));

async function demo(root: string, ...args: string[]): Promise<{ exitCode: number | null; stdout: string }> {
  return await runProgram([process.execPath, '--conditions=@holdfast/source', DEMO, ...args], {
    env: { TMPDIR: root, NODE_OPTIONS: undefined },
    timeoutMs: 280_000,
  });
}

describe('the demo', () => {
  it('shows that nothing is lost and nothing doubled', async () => {
    await using home = await testHome('demo');
    const { exitCode, stdout } = await demo(home.root);
    expect(stdout).toMatch(/\nlost 0, doubled 0, adopted 3 of 3 in \d+ ms\n$/);
    expect(exitCode).toBe(0);
  });

  it('says so when an agent does not start, and leaves nothing running', async () => {
    await using home = await testHome('demo');
    const { exitCode, stdout } = await demo(home.root, '--agent', 'there-is-no-such-agent acp');
    expect(stdout).toContain('agent demo of session long did not start');
    expect(stdout).toContain('NOT as promised: backend A ended by itself');
    expect(exitCode).toBe(1);
    await until(() => listProcesses().every(({ commandLine }) => !commandLine.includes(home.root)), {
      reason: 'everything that it started to be gone',
      withinMs: 60_000,
    });
  });
});

describe('its verdict', () => {
  const session: DemoSession = {
    name: 'one',
    shows: '',
    workspace: '',
    prompt: '',
    followUp: '',
    chunks: 3,
    asks: false,
  };
  const result: SessionResult = {
    name: 'one',
    agentPid: 7,
    outcome: 'completed',
    followUp: 'completed',
    produced: 5,
    positions: [1, 2, 3, 4, 5],
    chunks: [1, 2, 3],
  };
  const evidence: Evidence = {
    sessions: [session],
    before: new Map([['one', { agentPid: 7, turnId: 't' }]]),
    applied: new Map([['t', 1]]),
    results: [result],
  };

  it('finds nothing where all is well', () => {
    expect(judge(evidence)).toEqual({ lost: 0, doubled: 0, faults: [] });
  });

  it.each<[string, Partial<Evidence>, { lost: number; doubled: number }]>([
    ['a session without a result', { results: [] }, { lost: 0, doubled: 0 }],
    ['another agent process', { results: [{ ...result, agentPid: 8 }] }, { lost: 0, doubled: 0 }],
    ['a turn that failed', { results: [{ ...result, outcome: 'failed' }] }, { lost: 0, doubled: 0 }],
    ['an outcome never applied', { applied: new Map() }, { lost: 1, doubled: 0 }],
    ['an outcome applied twice', { applied: new Map([['t', 2]]) }, { lost: 0, doubled: 1 }],
    [
      'an event that is missing',
      { results: [{ ...result, positions: [1, 2, 3, 5] }] },
      { lost: 1, doubled: 0 },
    ],
    ['a chunk that came twice', { results: [{ ...result, chunks: [1, 2, 2, 3] }] }, { lost: 0, doubled: 1 }],
    ['chunks out of order', { results: [{ ...result, chunks: [2, 1, 3] }] }, { lost: 0, doubled: 0 }],
  ])('finds %s', (_, change, { lost, doubled }) => {
    const verdict = judge({ ...evidence, ...change });
    expect(verdict).toMatchObject({ lost, doubled });
    expect(verdict.faults).not.toEqual([]);
  });
});
