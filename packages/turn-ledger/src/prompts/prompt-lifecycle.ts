import type { TurnOutcome } from '@holdfast/control-protocol';
import { deepFreeze } from './deep-freeze.ts';
import type { PromptIdentity } from './prompt-identity.ts';
import {
  initialPrompts,
  reducePrompts,
  type ActivePrompt,
  type PromptState,
  type PromptStep,
  type PromptVerdict,
} from './prompt-state.ts';
import type { BootReadyEvent, ReadyBus, ReadyEvent } from './ready-bus.ts';

/** What a lifecycle works with. */
export interface PromptLifecycleOptions {
  readonly executionId: string;
  readonly sessionId: string;
  readonly bus: ReadyBus;
  /** Gives buffered output of the prompt to whoever reads it; called once, right before the prompt ends. Must not throw. */
  readonly flush: (prompt: PromptIdentity) => void;
}

/** How the wait for a prompt's end was over. */
export type PromptEnd =
  | { readonly kind: 'ended'; readonly event: ReadyEvent }
  | { readonly kind: 'dispatch_failed' }
  /** A later prompt has begun on the same execution; this one's terminal event is dropped. */
  | { readonly kind: 'superseded' }
  | { readonly kind: 'execution_ended' };

/** A prompt that has its number and may be dispatched now. */
export interface BegunPrompt {
  readonly identity: PromptIdentity;
  /** Never rejects. */
  readonly ended: Promise<PromptEnd>;
}

/** A `turn_ended` that came back, with the generation that travelled with its prompt. */
export interface TerminalEvent {
  readonly promptGeneration: number;
  readonly controlTurnId: string;
  readonly outcome: TurnOutcome;
}

/** What became of a terminal event. */
export type TerminalVerdict =
  | { readonly kind: 'ended'; readonly event: ReadyEvent }
  /** Nothing was flushed, woken, changed or published (GENERATION-06). */
  | { readonly kind: 'dropped'; readonly why: Exclude<PromptVerdict, 'taken'> };

/** The execution has ended: no prompt can begin on it. */
export class PromptsEndedError extends Error {
  override readonly name = 'PromptsEndedError';
  readonly code = 'prompts_ended';
  readonly executionId: string;

  constructor(facts: { executionId: string }) {
    super(`Execution ${facts.executionId} has ended; launch another one for its session.`);
    this.executionId = facts.executionId;
  }
}

/**
 * Whose turn it is, for one execution, in memory. Every method is one synchronous step. An execution that takes the place of
 * another gets a lifecycle of its own, and the old one is told to end: a late event can reach the old one only.
 */
export class PromptLifecycle {
  readonly #options: PromptLifecycleOptions;
  #state: PromptState = initialPrompts;
  /** The wait for the end of the active prompt, and what wakes it. */
  #waiting: PromiseWithResolvers<PromptEnd> | null = null;

  constructor(options: PromptLifecycleOptions) {
    this.#options = options;
  }

  get state(): PromptState {
    return this.#state;
  }

  /** The identity of the latest prompt, which the orchestrator's check asks for; null before the first and after the end. */
  get current(): PromptIdentity | null {
    const { promptGeneration, status } = this.#state;
    return status === 'ended' || promptGeneration === 0 ? null : this.#identity(promptGeneration);
  }

  /** The end of the active prompt, in which everybody may wait; null while there is none. Never rejects. */
  get ended(): Promise<PromptEnd> | null {
    return this.#waiting?.promise ?? null;
  }

  /**
   * Takes the next generation, before the prompt is dispatched; one that still runs is superseded (GENERATION-02). Throws
   * {@link PromptsEndedError}.
   */
  beginPrompt(): BegunPrompt {
    if (this.#take({ type: 'begin' }) !== 'taken') {
      throw new PromptsEndedError({ executionId: this.#options.executionId });
    }
    this.#settle({ kind: 'superseded' });
    return { identity: this.#identity(this.#state.promptGeneration), ended: this.#wait() };
  }

  /** The prompt was not accepted. Its number stays used (GENERATION-03). */
  dispatchFailed(generation: number): PromptVerdict {
    const verdict = this.#take({ type: 'dispatch_failed', generation });
    if (verdict === 'taken') this.#settle({ kind: 'dispatch_failed' });
    return verdict;
  }

  /** The prompt was accepted, under this turn id of the control server. */
  accepted(generation: number, controlTurnId: string): PromptVerdict {
    return this.#take({ type: 'accepted', generation, turnId: controlTurnId });
  }

  /**
   * Judges a terminal event before anything else happens. Of the active prompt: flush, wake who waits, become ready, capture
   * the ready event, publish it, all before this returns (GENERATION-04, -06, -10). Of any other: dropped whole.
   */
  terminal(terminal: TerminalEvent): TerminalVerdict {
    const verdict = this.escalate(terminal);
    if (verdict.kind === 'ended') this.#options.bus.publish(verdict.event);
    return verdict;
  }

  /**
   * As {@link PromptLifecycle.terminal}, for cancel escalation, which holds the session guard: everything but publishing. Publish
   * the event as it is once the guard is released (GENERATION-10).
   */
  escalate(terminal: TerminalEvent): TerminalVerdict {
    const step = { type: 'terminal', generation: terminal.promptGeneration } as const;
    const judged = reducePrompts(this.#state, step).verdict;
    if (judged !== 'taken') return { kind: 'dropped', why: judged };
    const identity = this.#identity(step.generation);
    this.#options.flush(identity);
    const verdict = this.#take(step);
    if (verdict !== 'taken') return { kind: 'dropped', why: verdict }; // the flush itself began another prompt
    const event: ReadyEvent = deepFreeze(
      structuredClone({
        kind: 'prompt_ended',
        ...identity,
        sessionId: this.#options.sessionId,
        controlTurnId: terminal.controlTurnId,
        outcome: terminal.outcome,
      }),
    );
    // A promise wakes its waiters after this step, whose whole they see.
    this.#settle({ kind: 'ended', event });
    return { kind: 'ended', event };
  }

  /** The execution has come up: says so to who listens, before this returns, if it is ready for a prompt (GENERATION-10). */
  bootReady(): void {
    const { promptGeneration, status } = this.#state;
    if (status !== 'ready') return;
    const { executionId, sessionId, bus } = this.#options;
    const event: BootReadyEvent = { kind: 'boot', executionId, sessionId, promptGeneration };
    bus.publish(Object.freeze(event));
  }

  /**
   * Recovery: goes on above the highest generation that the instance reports, with the prompt that it works on, if any. Gives
   * the wait for that prompt's end.
   */
  resumeAt(highestGeneration: number, active: ActivePrompt | null): BegunPrompt | null {
    if (this.#take({ type: 'resume', highestGeneration, active }) !== 'taken') {
      throw new PromptsEndedError({ executionId: this.#options.executionId });
    }
    this.#settle({ kind: 'superseded' });
    return active === null ? null : { identity: this.#identity(active.generation), ended: this.#wait() };
  }

  /** The execution is gone or replaced: whatever arrives for it from now on is dropped. May be called again. */
  end(): void {
    this.#take({ type: 'end' });
    this.#settle({ kind: 'execution_ended' });
  }

  #take(step: PromptStep): PromptVerdict {
    const { state, verdict } = reducePrompts(this.#state, step);
    this.#state = state;
    return verdict;
  }

  #identity(promptGeneration: number): PromptIdentity {
    return { executionId: this.#options.executionId, promptGeneration };
  }

  #wait(): Promise<PromptEnd> {
    this.#waiting = Promise.withResolvers<PromptEnd>();
    return this.#waiting.promise;
  }

  #settle(end: PromptEnd): void {
    this.#waiting?.resolve(end);
    this.#waiting = null;
  }
}
