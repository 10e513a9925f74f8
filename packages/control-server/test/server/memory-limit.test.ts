import { describe, expect, it } from '@jest/globals';
import { startBehaviour } from '@holdfast/scripted-agent';
import { waitForExit } from '@holdfast/testbeds';
import { InstanceOf, isType, ownedServer, readUntil, textsOf, type Steps } from '../support/owned-server.ts';

const MIB = 1024 * 1024;
const LIMIT = 300 * MIB;

const TAKES_MEMORY = `globalThis.taken = Buffer.alloc(${String(LIMIT)}, 1); setInterval(() => undefined, 60_000)`;

describe('an agent with a memory limit', () => {
  it.each<[string, Steps[number]]>([
    ['it', { step: 'memory', bytes: LIMIT }],
    [
      'what it started, wherever that is,',
      { step: 'child', command: [process.execPath, '-e', TAKES_MEMORY], ownSession: true },
    ],
  ])('is ended when %s holds more, and says so', async (_who, step) => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const { agentPid } = await instance.start({ memoryLimitBytes: LIMIT });
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'ignoreSigterm' }, step, { step: 'silence' });
    const events = await readUntil(stream, isType('agent_exited'));
    const message = new RegExp(`held \\d+ bytes of memory; its limit is ${String(LIMIT)}\\.$`);
    const error = { code: 'agent_memory_limit', message: expect.stringMatching(message) };
    expect(events.slice(-3).map(({ event }) => event)).toMatchObject([
      { type: 'agent_error', ...error, promptGeneration: 1 },
      { type: 'turn_ended', outcome: { kind: 'failed', stopReason: 'agent_exited', error } },
      // Killed, unless it was quicker to end with its input.
      { type: 'agent_exited', expected: false },
    ]);
    const child = /^child: (\d+)$/.exec(textsOf(events)[0] ?? '')?.[1];
    const within = { withinMs: 60_000, reason: 'it took too much memory' };
    for (const pid of [agentPid, Number(child ?? agentPid)]) await waitForExit(pid, within);
    await instance.untilIt('another agent to be possible', ({ agentPid: pid }) => pid === null);
    await instance.start({ memoryLimitBytes: LIMIT });
  });

  it('works undisturbed below it', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ memoryLimitBytes: LIMIT });
    await using stream = await instance.attach(0);
    // Longer than it takes to look twice.
    await instance.prompt(1, { step: 'memory', bytes: 50 * MIB }, { step: 'delay', ms: 2500 });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.at(-1)?.event).toMatchObject({ outcome: { kind: 'completed' } });
  });

  it('does not start with more', async () => {
    await using owned = await ownedServer();
    const environment = startBehaviour({ delayMs: 30_000 });
    const instance = await InstanceOf.create(owned, { environment });
    await expect(instance.start({ memoryLimitBytes: 20 * MIB })).rejects.toMatchObject({
      code: 'agent_start_failed',
      message: expect.stringMatching(/held \d+ bytes of memory; its limit is 20971520\.$/),
      details: { phase: 'initialize' },
    });
    await expect(instance.start({ memoryLimitBytes: 1024 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
