import type { TurnOutcome } from '@holdfast/control-protocol';
import { describe, expect, it } from '@jest/globals';
import {
  PromptLifecycle,
  PromptsEndedError,
  ReadyBus,
  type BootReadyEvent,
  type ReadyEvent,
} from '@holdfast/turn-ledger';
import { COMPLETED } from '../recorded-session.ts';

interface Bench {
  readonly lifecycle: PromptLifecycle;
  /** What happened, in order. */
  readonly happened: string[];
  readonly published: ReadyEvent[];
  readonly booted: BootReadyEvent[];
  readonly bus: ReadyBus;
}

function bench(executionId = 'e1'): Bench {
  const happened: string[] = [];
  const published: ReadyEvent[] = [];
  const booted: BootReadyEvent[] = [];
  const bus = new ReadyBus((error) => happened.push(`error ${String(error)}`));
  const lifecycle = new PromptLifecycle({
    executionId,
    sessionId: 's1',
    bus,
    flush: ({ promptGeneration }) =>
      happened.push(`flush ${String(promptGeneration)} ${lifecycle.state.status}`),
  });
  bus.subscribe((event) => {
    happened.push(`published ${String(event.promptGeneration)} ${lifecycle.state.status}`);
    if (event.kind === 'boot') booted.push(event);
    else published.push(event);
  });
  return { lifecycle, happened, published, booted, bus };
}

function terminal(
  promptGeneration: number,
  outcome: TurnOutcome = COMPLETED,
): Parameters<PromptLifecycle['terminal']>[0] {
  return { promptGeneration, controlTurnId: `c${String(promptGeneration)}`, outcome };
}

describe('a prompt', () => {
  it('is identified by its execution and its generation [GENERATION-01]', () => {
    const one = bench('e1').lifecycle;
    const other = bench('e2').lifecycle;
    expect(one.current).toBeNull();
    expect(one.beginPrompt().identity).toEqual({ executionId: 'e1', promptGeneration: 1 });
    expect(other.beginPrompt().identity).toEqual({ executionId: 'e2', promptGeneration: 1 });
    expect(one.current).toEqual({ executionId: 'e1', promptGeneration: 1 });
  });

  it('takes a new generation before every dispatch, the first and a replacement included; status changes take none [GENERATION-02]', () => {
    const { lifecycle } = bench();
    expect(lifecycle.state).toEqual({ promptGeneration: 0, active: null, status: 'ready' });
    lifecycle.beginPrompt();
    expect(lifecycle.state).toEqual({
      promptGeneration: 1,
      active: { generation: 1, turnId: null },
      status: 'running',
    });
    lifecycle.accepted(1, 'c1');
    expect(lifecycle.state.promptGeneration).toBe(1);
    expect(lifecycle.beginPrompt().identity.promptGeneration).toBe(2);
    lifecycle.terminal(terminal(2));
    expect(lifecycle.state).toEqual({ promptGeneration: 2, active: null, status: 'ready' });
    expect(lifecycle.beginPrompt().identity.promptGeneration).toBe(3);
  });

  it('uses its number up when its dispatch fails [GENERATION-03]', async () => {
    const { lifecycle, happened } = bench();
    const { ended } = lifecycle.beginPrompt();
    expect(lifecycle.dispatchFailed(1)).toBe('taken');
    expect(await ended).toEqual({ kind: 'dispatch_failed' });
    expect(lifecycle.state).toEqual({ promptGeneration: 1, active: null, status: 'ready' });
    expect(lifecycle.dispatchFailed(1)).toBe('not_active');
    expect(lifecycle.beginPrompt().identity.promptGeneration).toBe(2);
    expect(lifecycle.dispatchFailed(1)).toBe('superseded');
    expect(lifecycle.state.status).toBe('running');
    expect(happened).toEqual([]);
  });

  it('ends in one step: flush, wake, ready, publish [GENERATION-04]', async () => {
    const { lifecycle, happened, published } = bench();
    const { ended } = lifecycle.beginPrompt();
    lifecycle.accepted(1, 'c1');
    const verdict = lifecycle.terminal(terminal(1));
    expect(happened).toEqual(['flush 1 running', 'published 1 ready']);
    const event: ReadyEvent = {
      kind: 'prompt_ended',
      executionId: 'e1',
      promptGeneration: 1,
      sessionId: 's1',
      controlTurnId: 'c1',
      outcome: COMPLETED,
    };
    expect(verdict).toEqual({ kind: 'ended', event });
    expect(published).toEqual([event]);
    expect(await ended).toEqual({ kind: 'ended', event });
  });

  it('leaves an event that nobody can change, whatever happens to its execution later [GENERATION-04]', () => {
    const { lifecycle, published } = bench();
    const usage = { tokens: { input: 1 } };
    lifecycle.beginPrompt();
    lifecycle.terminal(terminal(1, { ...COMPLETED, usage }));
    usage.tokens.input = 99;
    lifecycle.beginPrompt();
    const [event] = published;
    expect(event).toMatchObject({ promptGeneration: 1, outcome: { usage: { tokens: { input: 1 } } } });
    expect(() => Object.assign(event ?? {}, { promptGeneration: 2 })).toThrow(TypeError);
    expect(() => Object.assign(event?.outcome ?? {}, { kind: 'failed' })).toThrow(TypeError);
    expect(Object.isFrozen(event?.outcome.usage?.['tokens'])).toBe(true);
  });
});

describe('a terminal event', () => {
  it('of a superseded prompt is dropped whole [GENERATION-06]', async () => {
    const { lifecycle, happened } = bench();
    const first = lifecycle.beginPrompt();
    lifecycle.accepted(1, 'c1');
    const second = lifecycle.beginPrompt();
    expect(await first.ended).toEqual({ kind: 'superseded' });
    const before = lifecycle.state;
    expect(lifecycle.terminal(terminal(1))).toEqual({ kind: 'dropped', why: 'superseded' });
    expect(happened).toEqual([]);
    expect(lifecycle.state).toBe(before);
    lifecycle.terminal(terminal(2));
    expect(await second.ended).toMatchObject({ kind: 'ended', event: { promptGeneration: 2 } });
    expect(happened).toEqual(['flush 2 running', 'published 2 ready']);
  });

  it.each([
    ['that came before', 1, 'not_active'],
    ['of a prompt that was never begun', 2, 'not_active'],
    ['of a turn that no prompt started', 0, 'no_prompt'],
  ] as const)('%s is dropped', (_what, generation, why) => {
    const { lifecycle, happened } = bench();
    lifecycle.beginPrompt();
    lifecycle.terminal(terminal(1));
    happened.length = 0;
    const before = lifecycle.state;
    expect(lifecycle.terminal(terminal(generation))).toEqual({ kind: 'dropped', why });
    expect(happened).toEqual([]);
    expect(lifecycle.state).toBe(before);
  });

  it('is dropped when the flush before it begins another prompt', async () => {
    const published: string[] = [];
    const bus = new ReadyBus(() => undefined);
    bus.subscribe(({ kind }) => {
      published.push(kind);
    });
    const lifecycle: PromptLifecycle = new PromptLifecycle({
      executionId: 'e1',
      sessionId: 's1',
      bus,
      flush: () => {
        if (lifecycle.state.promptGeneration === 1) lifecycle.beginPrompt();
      },
    });
    const { ended } = lifecycle.beginPrompt();
    expect(lifecycle.terminal(terminal(1))).toEqual({ kind: 'dropped', why: 'superseded' });
    expect(await ended).toEqual({ kind: 'superseded' });
    expect(lifecycle.state).toMatchObject({ promptGeneration: 2, status: 'running' });
    expect(published).toEqual([]);
  });

  it('of a replaced execution reaches nobody, though numbers start again [GENERATION-12]', async () => {
    const old = bench('e1');
    const { ended } = old.lifecycle.beginPrompt();
    old.lifecycle.end();
    const fresh = bench('e2');
    fresh.lifecycle.beginPrompt();
    expect(await ended).toEqual({ kind: 'execution_ended' });
    expect(old.lifecycle.terminal(terminal(1))).toEqual({ kind: 'dropped', why: 'execution_ended' });
    expect(old.happened).toEqual([]);
    expect(old.lifecycle.current).toBeNull();
    expect(() => old.lifecycle.beginPrompt()).toThrow(PromptsEndedError);
    expect(() => old.lifecycle.resumeAt(3, null)).toThrow(PromptsEndedError);
    old.lifecycle.end();
    expect(fresh.lifecycle.state.status).toBe('running');
  });
});

describe('cancel escalation', () => {
  it('does everything but publish, and what is published later is what was then [GENERATION-04, GENERATION-10]', async () => {
    const { lifecycle, happened, published, bus } = bench();
    const { ended } = lifecycle.beginPrompt();
    lifecycle.accepted(1, 'c1');
    const outcome: TurnOutcome = { kind: 'cancelled', stopReason: 'cancel_unanswered', usage: { tokens: 1 } };
    const verdict = lifecycle.escalate(terminal(1, outcome));
    expect(happened).toEqual(['flush 1 running']);
    expect(lifecycle.state).toEqual({ promptGeneration: 1, active: null, status: 'ready' });
    expect(await ended).toMatchObject({ kind: 'ended', event: { promptGeneration: 1 } });
    // The replacement runs, and the outcome is written to, before anybody hears of the end.
    lifecycle.beginPrompt();
    Object.assign(outcome, { kind: 'completed' });
    if (verdict.kind === 'ended') bus.publish(verdict.event);
    expect(published).toEqual([
      {
        kind: 'prompt_ended',
        executionId: 'e1',
        promptGeneration: 1,
        sessionId: 's1',
        controlTurnId: 'c1',
        outcome: { kind: 'cancelled', stopReason: 'cancel_unanswered', usage: { tokens: 1 } },
      },
    ]);
    expect(Object.isFrozen(published[0]?.outcome)).toBe(true);
  });

  it('of a superseded prompt is dropped whole, and a late answer after it too [GENERATION-06]', () => {
    const { lifecycle, happened } = bench();
    lifecycle.beginPrompt();
    lifecycle.beginPrompt();
    expect(lifecycle.escalate(terminal(1))).toEqual({ kind: 'dropped', why: 'superseded' });
    expect(happened).toEqual([]);
    expect(lifecycle.escalate(terminal(2)).kind).toBe('ended');
    expect(lifecycle.terminal(terminal(2))).toEqual({ kind: 'dropped', why: 'not_active' });
    expect(happened).toEqual(['flush 2 running']);
  });
});

describe('an execution that comes up', () => {
  it('says so before the call returns, when it is ready for a prompt [GENERATION-10]', () => {
    const fresh = bench();
    fresh.lifecycle.bootReady();
    expect(fresh.booted).toEqual([{ kind: 'boot', executionId: 'e1', sessionId: 's1', promptGeneration: 0 }]);
    expect(Object.isFrozen(fresh.booted[0])).toBe(true);
    const idle = bench();
    idle.lifecycle.resumeAt(4, null);
    idle.lifecycle.bootReady();
    expect(idle.booted).toMatchObject([{ promptGeneration: 4 }]);
    const busy = bench();
    busy.lifecycle.resumeAt(4, { generation: 4, turnId: 'c4' });
    busy.lifecycle.bootReady();
    busy.lifecycle.end();
    busy.lifecycle.bootReady();
    expect(busy.booted).toEqual([]);
  });

  it('lets everybody wait for the end of the active prompt', async () => {
    const { lifecycle } = bench();
    expect(lifecycle.ended).toBeNull();
    lifecycle.beginPrompt();
    const { ended } = lifecycle;
    lifecycle.terminal(terminal(1));
    expect(lifecycle.ended).toBeNull();
    expect(await ended).toMatchObject({ kind: 'ended', event: { promptGeneration: 1 } });
  });
});

describe('after a restart', () => {
  it('numbers go on above what the instance reports', () => {
    const { lifecycle } = bench();
    expect(lifecycle.resumeAt(7, null)).toBeNull();
    expect(lifecycle.state).toEqual({ promptGeneration: 7, active: null, status: 'ready' });
    expect(lifecycle.beginPrompt().identity.promptGeneration).toBe(8);
  });

  it('a prompt that runs still ends', async () => {
    const { lifecycle, happened } = bench();
    const resumed = lifecycle.resumeAt(7, { generation: 7, turnId: 'c7' });
    expect(resumed?.identity).toEqual({ executionId: 'e1', promptGeneration: 7 });
    expect(lifecycle.state).toEqual({
      promptGeneration: 7,
      active: { generation: 7, turnId: 'c7' },
      status: 'running',
    });
    lifecycle.terminal(terminal(7));
    expect(await resumed?.ended).toMatchObject({ kind: 'ended' });
    expect(happened).toEqual(['flush 7 running', 'published 7 ready']);
  });
});
