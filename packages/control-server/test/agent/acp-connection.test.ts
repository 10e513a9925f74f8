import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { AcpConnection, type AgentInbox, type AgentWire } from '../../src/agent/acp-connection.ts';
import { IN_A_ROW } from '../../src/agent/take-turns.ts';

const LINES = 10 * IN_A_ROW;

/** A wire on which the same line comes again and again, all of it at once. */
function floodOf(line: string): AgentWire {
  return {
    lines: () => Readable.from(Array.from({ length: LINES }, () => line)),
    writeLine: () => undefined,
    untaken: () => ({ lines: 0, bytes: 0 }),
  };
}

const INBOX: AgentInbox = {
  onNotification: () => Promise.resolve(),
  onRequest: () => Promise.resolve(),
  onWithdrawal: () => Promise.resolve(),
  onNoise: () => undefined,
};

describe('an agent that floods', () => {
  it.each([
    ['noise', 'noise'],
    ['blank lines', ''],
    ['what is no message', '{}'],
    ['answers that nobody waits for', '{"id":7,"result":{}}'],
    ['requests', '{"id":7,"method":"_vendor/sing"}'],
    ['withdrawals', '{"method":"$/cancel_request","params":{"requestId":7}}'],
  ])('with %s does not hold up requests, timers and other agents', async (_what, line) => {
    let turnsOfOthers = 0;
    let isRead = false;
    const countOn = (): void => {
      turnsOfOthers += 1;
      if (!isRead) setImmediate(countOn);
    };
    setImmediate(countOn);
    await new AcpConnection(floodOf(line)).read(INBOX);
    isRead = true;
    expect(turnsOfOthers).toBeGreaterThanOrEqual(10);
  });
});
