import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  PromptLifecycle,
  PromptsEndedError,
  ReadyBus,
  type BegunPrompt,
  type PromptEnd,
  type TerminalEvent,
  type TerminalVerdict,
} from '@holdfast/turn-ledger';
import { COMPLETED } from '../recorded-session.ts';

type Command =
  | { readonly type: 'begin' | 'end' }
  | { readonly type: 'fail' | 'accept' | 'terminal'; readonly back: number }
  | { readonly type: 'resume'; readonly ahead: number; readonly active: boolean };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('begin' as const) }) },
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constantFrom('fail' as const, 'accept' as const, 'terminal' as const, 'terminal' as const),
      /** How far behind the latest generation; -1 is one that was never given. */
      back: fc.integer({ min: -1, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('resume' as const),
      ahead: fc.nat({ max: 3 }),
      active: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('end' as const) }) },
);

/** All there is to know, said in another way than in the code: the fate of every generation that was waited for. */
class Model {
  latest = 0;
  open: number | null = null;
  over = false;
  readonly fates = new Map<number, PromptEnd['kind'] | 'open'>();
  readonly published: number[] = [];

  close(fate: PromptEnd['kind']): void {
    if (this.open !== null) this.fates.set(this.open, fate);
    this.open = null;
  }

  start(generation: number): void {
    this.close('superseded');
    this.open = generation;
    this.fates.set(generation, 'open');
  }
}

/** A lifecycle next to its model, and what came of its prompts. */
class Bench {
  readonly model = new Model();
  readonly fates = new Map<number, PromptEnd['kind'] | 'open' | 'settled twice'>();
  readonly published: number[] = [];
  readonly lifecycle: PromptLifecycle;
  readonly bus: ReadyBus;
  flushed = 0;

  constructor() {
    this.bus = new ReadyBus((error) => {
      throw error;
    });
    this.bus.subscribe((event) => {
      this.published.push(event.promptGeneration);
    });
    const flush = (): void => {
      this.flushed += 1;
    };
    this.lifecycle = new PromptLifecycle({ executionId: 'e', sessionId: 's', bus: this.bus, flush });
  }

  /** Does a step in both; whatever the lifecycle answers has to be what the model says. */
  act(step: Command): void {
    const { model, lifecycle } = this;
    const generation = 'back' in step ? Math.max(0, model.latest - step.back) : 0;
    const isOpen = generation === model.open;
    switch (step.type) {
      case 'begin':
        this.#begin();
        break;
      case 'resume':
        if (!model.over) this.#resume(model.latest + step.ahead, step.active && step.ahead > 0);
        break;
      case 'end':
        model.close('execution_ended');
        model.over = true;
        lifecycle.end();
        break;
      case 'accept':
        expect(lifecycle.accepted(generation, 'c') === 'taken').toBe(isOpen);
        break;
      case 'fail':
        if (isOpen) model.close('dispatch_failed');
        expect(lifecycle.dispatchFailed(generation) === 'taken').toBe(isOpen);
        break;
      case 'terminal': {
        if (isOpen) model.published.push(generation);
        if (isOpen) model.close('ended');
        const event = { promptGeneration: generation, controlTurnId: 'c', outcome: COMPLETED };
        const verdict = step.back % 2 === 0 ? lifecycle.terminal(event) : this.#escalate(event);
        expect(verdict.kind).toBe(isOpen ? 'ended' : 'dropped');
        break;
      }
    }
    expect(lifecycle.state).toMatchObject({
      promptGeneration: model.latest,
      status: model.over ? 'ended' : model.open === null ? 'ready' : 'running',
    });
    expect(lifecycle.state.active?.generation ?? null).toBe(model.open);
  }

  /** As a cancel that nobody answered: what is told is told later. */
  #escalate(terminal: TerminalEvent): TerminalVerdict {
    const told = this.published.length;
    const verdict = this.lifecycle.escalate(terminal);
    expect(this.published).toHaveLength(told);
    if (verdict.kind === 'ended') this.bus.publish(verdict.event);
    return verdict;
  }

  #begin(): void {
    const { model, lifecycle } = this;
    if (model.over) {
      expect(() => lifecycle.beginPrompt()).toThrow(PromptsEndedError);
      return;
    }
    model.latest += 1;
    model.start(model.latest);
    this.#watch(lifecycle.beginPrompt(), model.latest);
  }

  #resume(highest: number, isActive: boolean): void {
    const { model, lifecycle } = this;
    model.latest = highest;
    model.close('superseded');
    if (isActive) model.start(highest);
    this.#watch(lifecycle.resumeAt(highest, isActive ? { generation: highest, turnId: 'c' } : null), highest);
  }

  #watch(begun: BegunPrompt | null, generation: number): void {
    if (begun === null) return;
    expect(begun.identity).toEqual({ executionId: 'e', promptGeneration: generation });
    this.fates.set(generation, 'open');
    void begun.ended.then((end) => {
      this.fates.set(generation, this.fates.get(generation) === 'open' ? end.kind : 'settled twice');
    });
  }
}

it('prompts follow their rules in whatever order things happen [GENERATION-02] [GENERATION-03] [GENERATION-06]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const bench = new Bench();
      for (const step of commands) bench.act(step);
      await new Promise(setImmediate); // for the waiters to be told
      expect(bench.fates).toEqual(bench.model.fates);
      expect(bench.published).toEqual(bench.model.published);
      expect(bench.flushed).toBe(bench.published.length);
      expect(new Set(bench.published).size).toBe(bench.published.length);
    }),
    { numRuns: 500 },
  );
});
