import { describe, expect, it } from '@jest/globals';
import {
  OrchestratorStep,
  PromptLifecycle,
  ReadyBus,
  SessionGuard,
  type CurrentPrompts,
  type OrchestratorPorts,
  type StepResult,
} from '@holdfast/turn-ledger';
import { COMPLETED } from '../recorded-session.ts';

/** The executions of a host, the current one of each session; what a replaced one had to say is still about. */
class Bench {
  readonly guard = new SessionGuard();
  readonly happened: string[] = [];
  readonly results: Array<Promise<StepResult<string>>> = [];
  readonly bus = new ReadyBus((error) => this.happened.push(`error ${String(error)}`));
  readonly held = new Map<string, PromptLifecycle>();
  readonly step: OrchestratorStep<string, string>;

  constructor(ports: Partial<OrchestratorPorts<string, string>> = {}) {
    this.step = new OrchestratorStep<string, string>({
      guard: this.guard,
      executions: this.store,
      completeTurn: ({ promptGeneration }) => {
        this.#say(`complete ${String(promptGeneration)}`);
        return 'a turn';
      },
      makePendingMove: ({ promptGeneration }) => {
        this.#say(`move after ${String(promptGeneration)}`);
        return 'moved';
      },
      onTurnComplete: ({ promptGeneration }, { completed, move }) => {
        this.#say(`on complete ${String(promptGeneration)} ${completed} ${move}`);
      },
      ...ports,
    });
    this.bus.subscribe((event) => {
      if (event.kind === 'prompt_ended') this.results.push(this.step.take(event));
    });
  }

  get store(): CurrentPrompts {
    return { current: (executionId) => this.held.get(executionId)?.current ?? null };
  }

  execution(executionId: string): PromptLifecycle {
    const lifecycle = new PromptLifecycle({
      executionId,
      sessionId: 's',
      bus: this.bus,
      flush: () => undefined,
    });
    this.held.set(executionId, lifecycle);
    return lifecycle;
  }

  async judged(): Promise<unknown[]> {
    return await Promise.all(this.results);
  }

  #say(what: string): void {
    this.happened.push(this.guard.isHeld('s') ? what : `${what} without the guard`);
  }
}

function end(promptGeneration: number): Parameters<PromptLifecycle['terminal']>[0] {
  return { promptGeneration, controlTurnId: `c${String(promptGeneration)}`, outcome: COMPLETED };
}

describe("the orchestrator's step", () => {
  it('completes the turn, makes the pending move and runs on-turn-complete, in this order and under the guard [GENERATION-08]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    prompts.terminal(end(1));
    expect(await bench.judged()).toEqual([{ kind: 'done', move: 'moved' }]);
    expect(bench.happened).toEqual(['complete 1', 'move after 1', 'on complete 1 a turn moved']);
  });

  it('judges when it has the guard, not when it was told: a replacement accepted meanwhile makes the event stale [GENERATION-08, GENERATION-11]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    await bench.guard.hold('s', async () => {
      prompts.beginPrompt();
      prompts.terminal(end(1));
      await new Promise(setImmediate);
      expect(bench.happened).toEqual([]);
      prompts.beginPrompt();
    });
    expect(await bench.judged()).toEqual([{ kind: 'stale', why: 'superseded' }]);
    expect(bench.happened).toEqual([]);
    prompts.terminal(end(2));
    await bench.judged();
    expect(bench.happened).toEqual(['complete 2', 'move after 2', 'on complete 2 a turn moved']);
  });

  it('ignores what a later dispatch has overtaken, also one that failed [GENERATION-03, GENERATION-08]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    await bench.guard.hold('s', () => {
      prompts.beginPrompt();
      prompts.terminal(end(1));
      prompts.beginPrompt();
      prompts.dispatchFailed(2);
    });
    expect(await bench.judged()).toEqual([{ kind: 'stale', why: 'superseded' }]);
    expect(bench.happened).toEqual([]);
  });

  it('takes an end that came before its dispatch returned [GENERATION-06]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    await bench.guard.hold('s', () => {
      const { identity } = prompts.beginPrompt();
      prompts.terminal(end(1));
      expect(prompts.accepted(identity.promptGeneration, 'c1')).toBe('not_active');
    });
    expect(await bench.judged()).toEqual([{ kind: 'done', move: 'moved' }]);
  });

  it('ignores a replaced execution, though the number of its prompt is that of the new one [GENERATION-12]', async () => {
    const bench = new Bench();
    const old = bench.execution('e1');
    old.beginPrompt();
    await bench.guard.hold('s', () => {
      old.terminal(end(1));
      // The session gets another execution before the event is judged.
      old.end();
      bench.held.delete('e1');
      bench.execution('e2').beginPrompt();
    });
    expect(await bench.judged()).toEqual([{ kind: 'stale', why: 'execution_not_held' }]);
    expect(old.terminal(end(1))).toEqual({ kind: 'dropped', why: 'execution_ended' });
    expect(bench.happened).toEqual([]);
    bench.held.get('e2')?.terminal(end(1));
    await bench.judged();
    expect(bench.happened).toEqual(['complete 1', 'move after 1', 'on complete 1 a turn moved']);
  });

  it('is not run for what no prompt started [GENERATION-07]', () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    expect(prompts.terminal(end(0))).toEqual({ kind: 'dropped', why: 'no_prompt' });
    expect(prompts.state.status).toBe('running');
    expect(bench.results).toEqual([]);
  });

  it.each<[string, () => Partial<CurrentPrompts> | null]>([
    ['drops the check', () => ({})],
    ['has lost the store', () => null],
  ])('acts on nothing behind an adapter that %s [GENERATION-09]', async (_what, adapter) => {
    const bench = new Bench({ executions: adapter() });
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    prompts.terminal(end(1));
    expect(await bench.judged()).toEqual([{ kind: 'stale', why: 'not_provable' }]);
    expect(bench.happened).toEqual([]);
  });

  it('acts behind an adapter that keeps the check [GENERATION-09]', async () => {
    const held = new Map<string, PromptLifecycle>();
    const store: CurrentPrompts = { current: (executionId) => held.get(executionId)?.current ?? null };
    const adapter: CurrentPrompts = { current: (executionId) => store.current(executionId) };
    const bench = new Bench({ executions: adapter });
    const prompts = bench.execution('e1');
    held.set('e1', prompts);
    prompts.beginPrompt();
    prompts.terminal(end(1));
    expect(await bench.judged()).toEqual([{ kind: 'done', move: 'moved' }]);
  });

  it('makes no move when the turn could not be completed', async () => {
    const bench = new Bench({
      completeTurn: () => {
        throw new Error('no ledger');
      },
    });
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    prompts.terminal(end(1));
    await expect(bench.results[0]).rejects.toThrow('no ledger');
    expect(bench.happened).toEqual([]);
    expect(await bench.guard.hold('s', () => 'free')).toBe('free');
  });
});

describe('cancel escalation', () => {
  it('publishes when the guard is free: a subscriber that takes it in its call is not waited for by itself [GENERATION-10]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    await bench.guard.hold('s', async (held) => {
      const verdict = prompts.escalate(end(1));
      if (verdict.kind === 'ended') {
        const { event } = verdict;
        held.afterRelease(() => {
          bench.bus.publish(event);
        });
      }
      await new Promise(setImmediate);
      expect(bench.results).toEqual([]);
    });
    expect(await bench.judged()).toEqual([{ kind: 'done', move: 'moved' }]);
  });

  it('is stale when the replacement was accepted under the same hold, whose end is taken later [GENERATION-10, GENERATION-11]', async () => {
    const bench = new Bench();
    const prompts = bench.execution('e1');
    prompts.beginPrompt();
    await bench.guard.hold('s', (held) => {
      const verdict = prompts.escalate(end(1));
      if (verdict.kind === 'ended') {
        const { event } = verdict;
        held.afterRelease(() => {
          bench.bus.publish(event);
        });
      }
      prompts.beginPrompt();
    });
    expect(await bench.judged()).toEqual([{ kind: 'stale', why: 'superseded' }]);
    expect(prompts.terminal(end(1))).toEqual({ kind: 'dropped', why: 'superseded' });
    prompts.terminal(end(2));
    await bench.judged();
    expect(bench.happened).toEqual(['complete 2', 'move after 2', 'on complete 2 a turn moved']);
  });
});
