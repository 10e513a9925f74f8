import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { runProgram, testHome, until } from '@holdfast/testbeds';
import { commandServer } from '../support/command-server.ts';
import { InstanceOf, isType, readUntil, textsOf } from '../support/owned-server.ts';

const UPDATES = 100_000;
const UPDATE_BYTES = 500;
const MOST_GROWTH_BYTES = 64 * 1024 * 1024;

/** The resident memory of a process, in bytes. */
async function residentBytes(pid: number): Promise<number> {
  const { stdout } = await runProgram(['ps', '-o', 'rss=', '-p', String(pid)], { timeoutMs: 60_000 });
  return Number(stdout.trim()) * 1024;
}

describe('an agent that writes on while nobody is attached', () => {
  it('is blocked in its own write at the limit; the server does not grow, and all of it is delivered in order later [SURVIVAL-001.6]', async () => {
    await using home = await testHome('blocked-agent');
    await using server = await commandServer(home);
    const instance = await InstanceOf.create({ client: server.client, home });
    await instance.start();
    const idleBytes = await residentBytes(server.pid);
    await instance.prompt(
      1,
      { step: 'flood', count: UPDATES, bytes: UPDATE_BYTES },
      { step: 'touch', file: 'all-written' },
    );
    await instance.untilIt('the agent to be paused', ({ journal }) => journal.paused);
    // The agent has nothing else to do than to write on: when the server still reads, it shows in the growth.
    const looks: number[] = [];
    await until(
      async () => {
        looks.push(await residentBytes(server.pid));
        return looks.length >= 20;
      },
      { reason: 'twenty looks at the memory of the server', withinMs: 60_000, everyMs: 50 },
    );
    expect(Math.max(...looks) - idleBytes).toBeLessThan(MOST_GROWTH_BYTES);
    expect((await instance.describe()).journal).toEqual({ nextSeq: 101, unacknowledged: 100, paused: true });
    expect(existsSync(home.path('workspace', 'all-written'))).toBe(false);

    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('turn_ended'), { acknowledge: true });
    expect(events.length).toBe(UPDATES + 2);
    expect(events.every(({ seq }, index) => seq === index + 1)).toBe(true);
    const texts = textsOf(events);
    expect(texts).toHaveLength(UPDATES);
    const isNext = (text: string, index: number): boolean =>
      text.startsWith(`flood ${String(index + 1)}/${String(UPDATES)}.`) && text.length === UPDATE_BYTES;
    expect(texts.findIndex((text, index) => !isNext(text, index))).toBe(-1);
    expect(existsSync(home.path('workspace', 'all-written'))).toBe(true);
  });
});
