import { describe, expect, it } from '@jest/globals';
import { MAX_STRAGGLERS, REMEMBERED_PIECES, SETTLING_MS, WorkWatch } from '../../src/turns/work-watch.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A watch on an agent that has answered its last prompt just now. */
function answeredWatch(): { readonly watch: WorkWatch; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const watch = new WorkWatch(clock);
  watch.agentReady();
  watch.promptSent('t1');
  watch.belongs('toolCallId c1');
  watch.promptAnswered('t1');
  return { watch, clock };
}

describe('work of an agent’s own', () => {
  it('begins after a silence', () => {
    const { watch, clock } = answeredWatch();
    expect(watch.begins(null)).toBe(false);
    clock.advance(SETTLING_MS);
    expect(watch.begins(null)).toBe(true);
  });

  it('needs a silence in which the agent was listened to', () => {
    const { watch, clock } = answeredWatch();
    expect(watch.begins(null)).toBe(false);
    // The journal was full meanwhile.
    clock.advance(10 * SETTLING_MS);
    watch.listening();
    expect(watch.begins(null)).toBe(false);
    clock.advance(SETTLING_MS / 2);
    expect(watch.begins(null)).toBe(false);
    clock.advance(SETTLING_MS / 2);
    expect(watch.begins(null)).toBe(true);
  });

  it('begins without a silence when the agent goes on and on', () => {
    const { watch } = answeredWatch();
    const begun = Array.from({ length: MAX_STRAGGLERS + 1 }, () => watch.begins(null));
    expect(begun.indexOf(true)).toBe(MAX_STRAGGLERS);
  });

  it('is not what belongs to an earlier turn, however late', () => {
    const { watch, clock } = answeredWatch();
    clock.advance(3_600_000);
    expect(watch.begins('toolCallId c1')).toBe(false);
    expect(watch.begins('toolCallId c2')).toBe(true);
  });

  it('remembers a bounded number of pieces, the last that were worked on', () => {
    const { watch, clock } = answeredWatch();
    for (let n = 2; n <= REMEMBERED_PIECES; n += 1) watch.belongs(`toolCallId c${String(n)}`);
    watch.belongs('toolCallId c1');
    watch.belongs('toolCallId new');
    clock.advance(SETTLING_MS);
    expect(watch.begins('toolCallId c1')).toBe(false);
    expect(watch.begins('toolCallId c2')).toBe(true);
  });

  it('is not what comes before the last prompt is answered', () => {
    const { watch, clock } = answeredWatch();
    watch.promptSent('t2');
    clock.advance(3_600_000);
    expect(watch.begins(null)).toBe(false);
    watch.promptAnswered('t1');
    expect(watch.begins(null)).toBe(false);
    watch.promptAnswered('t2');
    expect(watch.begins(null)).toBe(false);
    clock.advance(SETTLING_MS);
    expect(watch.begins(null)).toBe(true);
  });

  it('is not what an agent says before its session is open, nor its greeting', () => {
    const clock = new ManualClock();
    const watch = new WorkWatch(clock);
    clock.advance(SETTLING_MS);
    expect(watch.begins(null)).toBe(false);
    watch.agentReady();
    expect(watch.begins(null)).toBe(false);
    clock.advance(SETTLING_MS);
    expect(watch.begins(null)).toBe(true);
  });

  it('ends with the agent, and the next one has none of its pieces', () => {
    const { watch, clock } = answeredWatch();
    watch.promptSent('t2');
    watch.agentGone();
    clock.advance(SETTLING_MS);
    expect(watch.begins(null)).toBe(false);
    watch.agentReady();
    clock.advance(SETTLING_MS);
    expect(watch.begins('toolCallId c1')).toBe(true);
  });
});
