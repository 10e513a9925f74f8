import { judgeReady, type CurrentPrompts, type ReadyJudgement } from './judge-ready.ts';
import type { ReadyEvent } from './ready-bus.ts';
import type { Held, SessionGuard } from './session-guard.ts';

/** The four calls of the step, and the guard that it makes them under. */
export interface OrchestratorPorts<Completed, Move> {
  readonly guard: Pick<SessionGuard, 'hold'>;
  /** Proves that the event is about the present. One that lost its check on the way proves nothing (GENERATION-09). */
  readonly executions: Partial<CurrentPrompts> | null | undefined;
  /** Makes the end durable, if it is not; gives what is to be known of the turn. */
  readonly completeTurn: (event: ReadyEvent) => Promise<Completed> | Completed;
  /** Does what waited for the end, e.g. sends the next prompt; must return on its acceptance (GENERATION-11). */
  readonly makePendingMove: (event: ReadyEvent, held: Held) => Promise<Move> | Move;
  readonly onTurnComplete: (event: ReadyEvent, step: StepSoFar<Completed, Move>) => Promise<void> | void;
}

/** What the step has done when it runs on-turn-complete. */
export interface StepSoFar<Completed, Move> {
  readonly completed: Completed;
  readonly move: Move;
  /** Lend it to foreign code, which may prompt. */
  readonly held: Held;
}

/** What came of a ready event. */
export type StepResult<Move> =
  | { readonly kind: 'done'; readonly move: Move }
  /** Nothing was called. */
  | Extract<ReadyJudgement, { kind: 'stale' }>;

/**
 * What the end of a prompt sets in motion, under the guard of its session: prove the event current, complete the turn, make the
 * pending move, run on-turn-complete, in this order (GENERATION-08). Subscribe it to the bus:
 * `bus.subscribe((event) => step.take(event))`.
 */
export class OrchestratorStep<Completed, Move> {
  readonly #ports: OrchestratorPorts<Completed, Move>;

  constructor(ports: OrchestratorPorts<Completed, Move>) {
    this.#ports = ports;
  }

  /** Rejects with what a call rejects with; the calls after it are not made then. The signal bounds the wait for the guard. */
  async take(event: ReadyEvent, options: { readonly signal?: AbortSignal } = {}): Promise<StepResult<Move>> {
    const { guard, executions, completeTurn, makePendingMove, onTurnComplete } = this.#ports;
    return await guard.hold(
      event.sessionId,
      async (held) => {
        const judgement = judgeReady(event, executions);
        if (judgement.kind === 'stale') return judgement;
        const completed = await completeTurn(event);
        const move = await makePendingMove(event, held);
        await onTurnComplete(event, { completed, move, held });
        return { kind: 'done', move };
      },
      options,
    );
  }
}
