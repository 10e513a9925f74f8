import type { Instance, RetainedOutcome, SequencedEvent } from '@holdfast/control-protocol';
import type { ControlClient } from '@holdfast/control-protocol/client';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { Execution } from '@holdfast/recovery';
import { PromptLifecycle, ReadyBus } from '@holdfast/turn-ledger';
import { SessionTakenOverError } from '../host-errors.ts';
import { pumpEvents, type PumpEnd } from './event-pump.ts';
import type { ExecutionServices } from './execution-services.ts';
import { settleLostAgent, settleOutcome } from './settle.ts';

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
    const bus = new ReadyBus((error) => {
      services.events.publish({ name: 'host.error', what: `a subscriber of ${executionId}`, error });
    });
    bus.subscribe(({ promptGeneration }) => {
      services.events.publish({ name: 'session.ready', sessionId, executionId, promptGeneration });
    });
    // Nothing is buffered here: what came before the end of a turn is in the ledger when the end is judged.
    this.lifecycle = new PromptLifecycle({ executionId, sessionId, bus, flush: () => undefined });
  }

  get client(): ControlClient {
    return this.server.client;
  }

  /** Lets the events flow, from the ledger's cursor on, until {@link LiveExecution.release} or the instance's end. */
  attach(): void {
    const { executionId, instanceId } = this.execution;
    const { ledger, events } = this.#services;
    const signal = AbortSignal.any([this.#stop.signal, this.server.lost]);
    this.#pump = pumpEvents(
      {
        instanceId,
        client: this.client,
        cursor: () => ledger.events.cursor(executionId),
        store: (batch) => this.#store(batch),
        beforeReattach: () => this.settleRetained(),
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

  /** The instance as its control server describes it. */
  async instance(): Promise<Instance> {
    return await this.client.call('getInstance', { instanceId: this.execution.instanceId });
  }

  /** Applies every outcome that the server retains, and tells it so. */
  async settleRetained(): Promise<void> {
    const report = await this.client.call('getTurn', { instanceId: this.execution.instanceId });
    for (const retained of report.retained) await this.#applyRetained(retained);
  }

  async #applyRetained({ turnId, promptGeneration, outcome, endedAt }: RetainedOutcome): Promise<void> {
    const { executionId } = this.execution;
    const result = await this.#services.ledger.outcomes.apply({
      executionId,
      promptGeneration,
      controlTurnId: turnId,
      outcome,
      endedAt,
    });
    if (result.applied) settleOutcome(this.#services, result);
    this.lifecycle.terminal({ promptGeneration, controlTurnId: turnId, outcome });
    await this.#acknowledge(turnId);
  }

  async #store(batch: readonly SequencedEvent[]): Promise<void> {
    const { ledger, stored } = this.#services;
    const result = await ledger.events.append(this.execution.executionId, batch);
    stored.notify(this.execution.sessionId);
    for (const applied of result.applied) {
      if (applied.applied) settleOutcome(this.#services, applied);
    }
    for (const { event } of batch) await this.#act(event);
  }

  async #act(event: SequencedEvent['event']): Promise<void> {
    const { sessionId } = this.execution;
    const { events } = this.#services;
    if (event.type === 'turn_ended') {
      const { promptGeneration, turnId: controlTurnId, outcome } = event;
      this.lifecycle.terminal({ promptGeneration, controlTurnId, outcome });
      await this.#acknowledge(controlTurnId);
    } else if (event.type === 'agent_exited') {
      this.agentRunning = false;
    } else if (event.type === 'permission_requested') {
      events.publish({ name: 'permission.requested', sessionId, permission: event.permission });
    } else if (event.type === 'permission_cancelled') {
      events.publish({ name: 'permission.cancelled', sessionId, requestId: event.requestId });
    }
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
    const { events } = this.#services;
    this.#onEnd();
    this.lifecycle.end();
    if (why === 'instance_stopped' || why === 'server_stopping') {
      await settleLostAgent(this.#services, sessionId);
    } else if (why === 'superseded') {
      await this.#takenOver();
    }
    events.publish({ name: 'session.ended', sessionId, why });
  }

  /** Nothing is written any more about what another backend drives now; its outcomes are told there (OWNERSHIP-002.3). */
  async #takenOver(): Promise<void> {
    const { sessionId } = this.execution;
    const { ledger, results, takenOver } = this.#services;
    const error = new SessionTakenOverError(sessionId, this.server.lost.reason);
    takenOver.set(sessionId, error);
    const open = await ledger.turns.openTurn(sessionId);
    if (open !== null) results.lose(open.turnId, error);
  }
}
