import type { ActiveTurn, JsonObject, TurnOutcome } from '@holdfast/control-protocol';
import { meaningOf, toolCallPiece } from '../agent/update-meaning.ts';
import type { Journal } from '../journal/journal.ts';
import type { Clock } from '../ports/clock.ts';
import { CancelLimit } from './cancel-limit.ts';
import { publishUnlessStopped } from '../journal/publish-unless-stopped.ts';
import { WorkWatch } from './work-watch.ts';

/** What a turn without a prompt needs from its surroundings. */
export interface OwnTurnsOptions {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly nextTurnId: () => string;
  /** Whether the turn of a prompt is active: all that the agent does is part of that then. */
  readonly isPrompted: () => boolean;
}

/**
 * The turns that no prompt started (GENERATION-07): an agent works on its own, e.g. because it woke up at an hour it had set.
 * Such a turn has generation 0, begins before the first update of that work, and never stands in the way of a prompt.
 */
export class OwnTurns {
  readonly watch: WorkWatch;
  readonly #options: OwnTurnsOptions;
  readonly #cancelLimit: CancelLimit;
  #active: ActiveTurn | null = null;
  #cancelAgent = (): void => undefined;

  constructor(options: OwnTurnsOptions) {
    this.#options = options;
    this.watch = new WorkWatch(options.clock);
    this.#cancelLimit = new CancelLimit(options.clock);
  }

  get active(): ActiveTurn | null {
    return this.#active;
  }

  /** An agent is ready for prompts, and may work without one. */
  agentReady(cancelAgent: () => void): void {
    this.#cancelAgent = cancelAgent;
    this.watch.agentReady();
  }

  /**
   * Puts an update of the agent in its place: a turn that it begins is started before it, a turn that it ends is ended after it.
   * `publish` hands the update to the journal; resolves when it is there.
   */
  async updated(update: JsonObject, publish: () => Promise<void>): Promise<void> {
    const meaning = meaningOf(update);
    if (meaning.kind === 'work') this.#works(meaning.piece);
    const published = publish();
    if (meaning.kind === 'idle' && this.#active !== null) {
      await this.end(meaning.outcome);
      this.watch.settle();
    }
    await published;
  }

  /** The agent asks for permission to go on, which is work as well. */
  asked(toolCall: JsonObject): void {
    this.#works(toolCallPiece(toolCall));
  }

  /** Asks the agent to end a turn of its own; false when it is not active. */
  cancel(turnId: string): boolean {
    if (this.#active?.turnId !== turnId) return false;
    this.#cancelLimit.start(this.#cancelAgent, () => {
      void this.end({ kind: 'cancelled', stopReason: 'cancel_unanswered' });
    });
    return true;
  }

  /** A prompt takes over. */
  prompted(): void {
    const kind = this.#cancelLimit.isRunning ? 'cancelled' : 'completed';
    void this.end({ kind, stopReason: 'next_prompt' });
  }

  /** Ends the turn, if one is active; resolves when that is in the journal. Its end is told there and nowhere else. */
  async end(outcome: TurnOutcome): Promise<void> {
    const turn = this.#active;
    if (turn === null) return;
    this.#active = null;
    this.#cancelLimit.clear();
    const { turnId, promptGeneration } = turn;
    await publishUnlessStopped(this.#options.journal, {
      type: 'turn_ended',
      turnId,
      promptGeneration,
      outcome,
    });
  }

  /** The instance stops: no timer of it stays. */
  stop(): void {
    this.#cancelLimit.clear();
  }

  #works(piece: string | null): void {
    const { isPrompted } = this.#options;
    const hasTurn = isPrompted() || this.#active !== null;
    if (!hasTurn && !this.watch.begins(piece)) return;
    this.watch.belongs(piece);
    if (!hasTurn) this.#begin();
  }

  #begin(): void {
    const { clock, journal, nextTurnId } = this.#options;
    const turn = { turnId: nextTurnId(), promptGeneration: 0, startedAt: clock.wall().toISOString() };
    this.#active = turn;
    const { turnId, promptGeneration } = turn;
    // Not awaited: the update that comes next waits behind it.
    void publishUnlessStopped(journal, { type: 'turn_started', turnId, promptGeneration });
  }
}
