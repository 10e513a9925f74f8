import { describe, expect, it } from '@jest/globals';
import { outcomeOf } from '../../src/agent/acp-mapping.ts';

const outcome = (result: unknown) => outcomeOf({ kind: 'result', result });

describe('the outcome of a turn', () => {
  it('has the agent’s own word and its usage, untouched', () => {
    const usage = { totalTokens: 7, by: [{ model: 'm', _meta: null }] };
    expect(outcome({ stopReason: 'end_turn', usage })).toEqual({
      kind: 'completed',
      stopReason: 'end_turn',
      usage,
    });
    expect(outcome({ stopReason: 'from_the_future' })).toEqual({
      kind: 'completed',
      stopReason: 'from_the_future',
    });
  });

  it('is bounded, since it is kept', () => {
    const usage = { text: 'x'.repeat(64 * 1024) };
    expect(outcome({ stopReason: 'y'.repeat(1_000_000), usage })).toEqual({
      kind: 'completed',
      stopReason: 'y'.repeat(2000),
    });
  });

  it.each([null, 7, {}, { stopReason: 7 }])('is a failure with %j for an answer', (result) => {
    expect(outcome(result)).toMatchObject({ kind: 'failed', error: { code: 'agent_protocol_error' } });
  });
});
