import { describe, expect, it } from '@jest/globals';
import {
  judgeReady,
  PromptLifecycle,
  ReadyBus,
  SessionGuard,
  type CurrentPrompts,
  type ReadyEvent,
} from '@holdfast/turn-ledger';
import { COMPLETED } from '../recorded-session.ts';

const EVENT: ReadyEvent = {
  kind: 'prompt_ended',
  executionId: 'e1',
  promptGeneration: 3,
  sessionId: 's1',
  controlTurnId: 'c3',
  outcome: COMPLETED,
};

describe('the bus', () => {
  it('has called every subscriber, in order, when publishing returns', () => {
    const called: string[] = [];
    const bus = new ReadyBus(() => undefined);
    bus.subscribe(() => {
      called.push('first');
    });
    const leave = bus.subscribe(() => {
      called.push('second');
    });
    bus.publish(EVENT);
    leave();
    leave();
    bus.publish(EVENT);
    expect(called).toEqual(['first', 'second', 'first']);
  });

  it('keeps the failures of one subscriber from the others, and reports them', async () => {
    const errors: unknown[] = [];
    const called: string[] = [];
    const bus = new ReadyBus((error) => errors.push(error));
    const thrown = new Error('thrown');
    const rejected = new Error('rejected');
    bus.subscribe(() => {
      throw thrown;
    });
    bus.subscribe(async () => await Promise.reject(rejected));
    bus.subscribe(() => {
      called.push('last');
    });
    bus.publish(EVENT);
    expect(called).toEqual(['last']);
    expect(errors).toEqual([thrown]);
    await new Promise(setImmediate);
    expect(errors).toEqual([thrown, rejected]);
  });

  it('gives an event to those that were there when it was published', () => {
    const called: string[] = [];
    const bus = new ReadyBus(() => undefined);
    const leave = bus.subscribe(() => {
      called.push('once');
      leave();
      bus.subscribe(() => {
        called.push('late');
      });
    });
    bus.publish(EVENT);
    expect(called).toEqual(['once']);
    bus.publish(EVENT);
    expect(called).toEqual(['once', 'late']);
  });
});

describe("the orchestrator's check", () => {
  const store = (...held: ReadonlyArray<readonly [string, number]>): CurrentPrompts => ({
    current: (executionId) => {
      const found = held.find(([id]) => id === executionId);
      return found === undefined ? null : { executionId, promptGeneration: found[1] };
    },
  });

  it.each([
    ['the latest prompt of an execution that is held', store(['e1', 3]), { kind: 'current' }],
    ['a later prompt has begun', store(['e1', 4]), { kind: 'stale', why: 'superseded' }],
    ['a number that was never given', store(['e1', 2]), { kind: 'stale', why: 'superseded' }],
    ['an execution that is not held', store(['e2', 3]), { kind: 'stale', why: 'execution_not_held' }],
    ['nothing is held', store(), { kind: 'stale', why: 'execution_not_held' }],
  ])('%s', (_what, executions, judgement) => {
    expect(judgeReady(EVENT, executions)).toEqual(judgement);
  });

  it.each([
    ['without its check', {}],
    ['that is not there', null],
  ])('a store %s proves nothing [GENERATION-09]', (_what, executions) => {
    expect(judgeReady(EVENT, executions)).toEqual({ kind: 'stale', why: 'not_provable' });
  });

  it('under the guard ignores an event that waited while a replacement was accepted', async () => {
    const guard = new SessionGuard();
    const bus = new ReadyBus((error) => {
      throw error;
    });
    const lifecycle = new PromptLifecycle({
      executionId: 'e1',
      sessionId: 's1',
      bus,
      flush: () => undefined,
    });
    const executions: CurrentPrompts = { current: () => lifecycle.current };
    const judged: string[] = [];
    const steps: Array<Promise<void>> = [];
    bus.subscribe((event) => {
      steps.push(
        guard.hold(event.sessionId, () => {
          judged.push(`${String(event.promptGeneration)} ${judgeReady(event, executions).kind}`);
        }),
      );
    });
    await guard.hold('s1', () => {
      lifecycle.beginPrompt();
      lifecycle.terminal({ promptGeneration: 1, controlTurnId: 'c1', outcome: COMPLETED });
      lifecycle.beginPrompt();
    });
    lifecycle.terminal({ promptGeneration: 2, controlTurnId: 'c2', outcome: COMPLETED });
    await Promise.all(steps);
    expect(judged).toEqual(['1 stale', '2 current']);
  });
});
