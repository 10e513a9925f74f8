import { describe, expect, it } from '@jest/globals';
import { isIdle } from '../../src/instances/idle-rule.ts';

const QUIET = { attached: false, requestsInFlight: 0, turnActive: false, quietMs: 1000 };

describe('the idle rule', () => {
  it.each([
    ['quiet for the timeout', QUIET, 1000, true],
    ['not quiet for long enough', { ...QUIET, quietMs: 999 }, 1000, false],
    ['attached', { ...QUIET, attached: true }, 1000, false],
    ['answering a request', { ...QUIET, requestsInFlight: 1 }, 1000, false],
    ['in a turn', { ...QUIET, turnActive: true }, 1000, false],
    ['never idle, because that is switched off', { ...QUIET, quietMs: 1e12 }, 0, false],
  ])('%s', (_name, use, timeoutMs, idle) => {
    expect(isIdle(use, timeoutMs)).toBe(idle);
  });
});
