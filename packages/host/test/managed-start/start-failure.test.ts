import { describe, expect, it } from '@jest/globals';
import { ControlError, NpmFailureClass, type JsonObject } from '@holdfast/control-protocol';
import { isStaleMetadata, startFailureOf } from '../../src/sessions/managed-start/start-failure.ts';

const STALE: JsonObject = {
  phase: 'initialize',
  exit: { code: 1, signal: null },
  stderrClass: 'npm_stale_metadata',
  advice: 'look',
};
const failed = (details: JsonObject | undefined): ControlError =>
  new ControlError('agent_start_failed', 'it failed', details);

describe('stale metadata', () => {
  it('is what the server calls so, before the agent has answered', () => {
    expect(isStaleMetadata(failed(STALE))).toBe(true);
  });

  it.each<[string, unknown]>([
    ['a later phase', failed({ ...STALE, phase: 'session' })],
    ['another class', failed({ ...STALE, stderrClass: 'npm_release_policy' })],
    ['a class that nobody knows', failed({ ...STALE, stderrClass: 'npm_odd' })],
    ['no class', failed({ phase: 'initialize', exit: null })],
    ['no details', failed(undefined)],
    ['another error of the server', new ControlError('agent_timeout', 'late', STALE)],
    ['another error', new Error('npm_stale_metadata')],
  ])('is not %s', (_, error) => {
    expect(isStaleMetadata(error)).toBe(false);
  });
});

describe('a start that failed', () => {
  it('is worth another try for these classes only', () => {
    const retryable = NpmFailureClass.options.filter(
      (stderrClass) => startFailureOf(failed({ ...STALE, stderrClass })).retryable,
    );
    expect(retryable).toEqual([
      'npm_stale_metadata',
      'npm_network',
      'npm_integrity',
      'npm_contention',
      'unexplained_exit',
      'none',
    ]);
  });

  it('says what is known of one that npm did not run', () => {
    expect(startFailureOf(failed({ phase: 'session', exit: null }))).toEqual({
      phase: 'session',
      stderrClass: null,
      advice: null,
      retryable: true,
    });
    expect(startFailureOf(failed({ phase: 'odd' })).phase).toBeNull();
  });
});
