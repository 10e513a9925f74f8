import type { Instance, SequencedEvent } from '@holdfast/control-protocol';
import type { CallOptions, ControlClient } from '@holdfast/control-protocol/client';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { Execution } from '@holdfast/recovery';
import {
  PromptLifecycle,
  type AppendResult,
  type ApplyOutcome,
  type TerminalEvent,
} from '@holdfast/turn-ledger';
import { SessionNotLiveError, SessionTakenOverError } from './session-errors.ts';
import { sessionLiveness } from '../liveness/session-liveness.ts';
import { pumpEvents, type PumpEnd } from './event-pump.ts';
import type { ExecutionServices } from './execution-services.ts';
import { settleLostAgent, settleOutcome } from './settle.ts';

type TurnEnded = Extract<SequencedEvent['event'], { type: 'turn_ended' }>;

/** An execution that runs now: its events flow into the ledger, and its session can be prompted. */
export class LiveExecution {
  readonly execution: Execution;
  readonly server: OwnedControlServer;
  readonly lifecycle: PromptLifecycle;
  /** Whether the instance has an agent process. */
  agentRunning = true;
  readonly #services: ExecutionServices;
  readonly #onEnd: () => void;
  readonly #stop = new AbortController();
  #stopping = new AbortController();
  #pump: Promise<void> | undefined;

  /** `onEnd` is called when it runs no more, whatever the cause. */
  constructor(
    services: ExecutionServices,
    parts: { readonly execution: Execution; readonly server: OwnedControlServer; readonly onEnd: () => void },
  ) {
    const { execution, server, onEnd } = parts;
    this.#services = services;
    this.#onEnd = onEnd;
    this.execution = execution;
    this.server = server;
    const { executionId, sessionId } = execution;
    const { ready: bus } = services;
    // Nothing is buffered here: what came before the end of a turn is in the ledger when the end is judged.
    this.lifecycle = new PromptLifecycle({ executionId, sessionId, bus, flush: () => undefined });
  }

  /** Aborts when somebody wants it to stop: nobody needs to wait for a turn of it any more. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** A stop is coming, as soon as the session guard is free. */
  announceStop(): void {
    this.#stopping.abort();
  }

  /** The stop that was announced has not come about: waiting for a turn is worth it again. */
  stopGivenUp(): void {
    this.#stopping = new AbortController();
  }

  get client(): ControlClient {
    return this.server.client;
  }

  /** Lets the events flow, from the ledger's cursor on, until {@link LiveExecution.release} or the instance's end. */
  attach(): void {
    const { executionId, instanceId } = this.execution;
    const { ledger, patience, events, closed } = this.#services;
    const signal = AbortSignal.any([this.#stop.signal, this.server.lost]);
    this.#pump = pumpEvents(
      {
        instanceId,
        client: this.client,
        serverEnded: this.server.ended,
        cursor: () => patience.insist(async () => await ledger.events.cursor(executionId), signal),
        store: (batch) => this.#store(batch, signal),
        beforeReattach: () => this.settleRetained(undefined, { signal }),
        onDetached: (why) => {
          events.publish({ name: 'session.detached', sessionId: this.execution.sessionId, why });
        },
      },
      signal,
    )
      .then(async (end) => {
        if (end !== undefined) await this.#ended(end);
        else if (this.server.lost.aborted) await this.#ended('superseded');
      })
      .catch((error: unknown) => {
        // The next host says the rest.
        if (closed.aborted) return;
        events.publish({ name: 'host.error', what: `the end of execution ${executionId}`, error });
      });
  }

  /** Stops the flow; the instance lives on. Resolves when nothing of it is under way any more. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#pump;
    this.lifecycle.end();
    this.#onEnd();
  }

  /** Resolves when it runs no more, and the ledger says so. */
  async untilEnded(): Promise<void> {
    await this.#pump;
  }

  /** The instance as its control server describes it. */
  async instance(limits: CallOptions = {}): Promise<Instance> {
    return await this.client.call('getInstance', { instanceId: this.execution.instanceId }, limits);
  }

  /**
   * Applies every outcome that the server retains, and tells it so. `end` judges each of them; unless told it is that of the
   * lifecycle, which publishes at once. Waits for a ledger that is away until the signal of the limits, or the host's end.
   */
  async settleRetained(
    end: (terminal: TerminalEvent) => void = (terminal) => this.lifecycle.terminal(terminal),
    limits: CallOptions = {},
  ): Promise<void> {
    const { instanceId } = this.execution;
    const signal = limits.signal ?? this.#services.closed;
    const { retained } = await this.client.call('getTurn', { instanceId }, limits);
    for (const { turnId, promptGeneration, outcome, endedAt } of retained) {
      await this.#apply({ promptGeneration, controlTurnId: turnId, outcome, endedAt }, signal);
      end({ promptGeneration, controlTurnId: turnId, outcome });
      await this.#acknowledge(turnId);
    }
  }

  /** Applies an outcome, however long the ledger is away. One whose commit nobody could tell of counts as applied now. */
  async #apply(
    ended: Omit<ApplyOutcome, 'executionId'>,
    signal: AbortSignal,
    wasInDoubt = false,
  ): Promise<void> {
    const { ledger, patience } = this.#services;
    const { executionId } = this.execution;
    await patience.insist(async (inDoubt) => {
      const result = await ledger.outcomes.apply({ executionId, ...ended });
      if (result.applied) {
        settleOutcome(this.#services, result);
      } else if ((inDoubt || wasInDoubt) && result.why === 'already_terminal') {
        const { turnId, sessionId, turnState } = result;
        const { promptGeneration, outcome } = ended;
        if (turnState !== 'abandoned')
          settleOutcome(this.#services, { turnId, sessionId, promptGeneration, outcome });
      }
    }, signal);
  }

  async #store(batch: readonly SequencedEvent[], signal: AbortSignal): Promise<void> {
    const { ledger, patience, stored } = this.#services;
    const { executionId, sessionId } = this.execution;
    const { result, repeated } = await patience.insist(async (inDoubt) => {
      const appended = await ledger.events.append(executionId, batch);
      return { result: appended, repeated: inDoubt ? batch.slice(0, appended.skipped) : [] };
    }, signal);
    stored.notify(sessionId);
    for (const { at: endedAt, event } of repeated) {
      if (event.type !== 'turn_ended') continue;
      const { promptGeneration, turnId: controlTurnId, outcome } = event;
      await this.#apply({ promptGeneration, controlTurnId, outcome, endedAt }, signal, true);
    }
    for (const { event } of batch) this.#act(event, result);
    for (const { event } of batch) {
      // The server retains no outcome of what the agent did on its own.
      if (event.type === 'turn_ended' && event.promptGeneration > 0) await this.#acknowledge(event.turnId);
    }
  }

  /** In the order of the events, so that who listens hears of a turn's beginning before its end. */
  #act(event: SequencedEvent['event'], stored: AppendResult): void {
    const { sessionId } = this.execution;
    const { events } = this.#services;
    if (event.type === 'turn_started') {
      const { promptGeneration, turnId } = event;
      this.lifecycle.accepted(promptGeneration, turnId);
      const isUnprompted = stored.unprompted.some((begun) => begun.turnId === turnId);
      if (isUnprompted) events.publish({ name: 'turn.unprompted', sessionId, turnId });
    } else if (event.type === 'turn_ended') {
      this.#turnEnded(event, stored);
    } else if (event.type === 'agent_exited') {
      // Whoever asks for the end of an agent knows of it before this event, and may have started another.
      if (!event.expected) this.agentRunning = false;
    } else if (event.type === 'permission_requested') {
      events.publish({ name: 'permission.requested', sessionId, permission: event.permission });
    } else if (event.type === 'permission_cancelled') {
      events.publish({ name: 'permission.cancelled', sessionId, requestId: event.requestId });
    }
  }

  #turnEnded(
    { promptGeneration, turnId: controlTurnId, outcome }: TurnEnded,
    { applied }: AppendResult,
  ): void {
    for (const result of applied) {
      if (result.applied && result.controlTurnId === controlTurnId) settleOutcome(this.#services, result);
    }
    // The event that says so may come after this one, and a prompt that waits is sent before it.
    if (outcome.stopReason === 'agent_exited') this.agentRunning = false;
    this.lifecycle.terminal({ promptGeneration, controlTurnId, outcome });
  }

  /** Says that an outcome is durable. A server that does not hear it retains it, and tells it again. */
  async #acknowledge(turnId: string): Promise<void> {
    try {
      await this.client.call('acknowledgeTurn', { instanceId: this.execution.instanceId, turnId });
    } catch (error) {
      this.#services.events.publish({
        name: 'host.error',
        what: `the acknowledgement of turn ${turnId}`,
        error,
      });
    }
  }

  async #ended(why: PumpEnd): Promise<void> {
    const { sessionId } = this.execution;
    const { events, pending } = this.#services;
    this.#onEnd();
    this.lifecycle.end();
    if (why === 'superseded') await this.#takenOver();
    else if (why !== 'replaced') await this.#agentLost(why);
    pending.rejectAll(
      sessionId,
      this.#services.takenOver.get(sessionId) ?? new SessionNotLiveError(sessionId),
    );
    events.publish({ name: 'session.ended', sessionId, why });
  }

  /** A server that ends may leave its agent behind, or be about to stop it. */
  async #agentLost(why: Exclude<PumpEnd, 'superseded' | 'replaced'>): Promise<void> {
    const { patience, closed } = this.#services;
    const { sessionId } = this.execution;
    await patience.insist(async () => {
      const isGone =
        why === 'instance_stopped' ||
        (await sessionLiveness(this.#services, sessionId, closed)).liveness === 'gone';
      await settleLostAgent(this.#services, this.execution, isGone);
    }, closed);
  }

  /** Nothing is written any more about what another backend drives now; its outcomes are told there (OWNERSHIP-002.3). */
  async #takenOver(): Promise<void> {
    const { sessionId } = this.execution;
    const { ledger, patience, closed, results, takenOver } = this.#services;
    const error = new SessionTakenOverError(sessionId, this.server.lost.reason);
    takenOver.set(sessionId, error);
    const open = await patience.insist(async () => await ledger.turns.openTurn(sessionId), closed);
    if (open !== null) results.lose(open.turnId, error);
  }
}
