import { OrchestratorStep, type ReadyEvent, type TurnRecord } from '@holdfast/turn-ledger';
import type { HostServices } from '../sessions/host-services.ts';
import { recordOf, sendPending } from '../sessions/send-prompt.ts';
import { Session } from '../sessions/session.ts';
import { settleOutcome } from '../sessions/settle.ts';
import { executionStore } from './execution-store.ts';
import type { OnTurnComplete } from './on-turn-complete.ts';
import type { Turn } from './turn.ts';

/**
 * Subscribes the host to the ends of its prompts: each is told as `session.ready`, and the orchestrator's step is run for those
 * that end a turn. Nothing is awaited by who publishes.
 */
export function orchestrate(services: HostServices, onTurnComplete: OnTurnComplete): void {
  const { ready, events, sessionGuard, live, closed } = services;
  const step = new OrchestratorStep<TurnRecord, Turn | null>({
    guard: sessionGuard,
    executions: executionStore(live),
    completeTurn: async (event) => await completeTurn(services, event),
    makePendingMove: async ({ sessionId }, held) => await sendPending(services, sessionId, held),
    onTurnComplete: async ({ sessionId }, { completed, move, held }) => {
      const session = new Session(services, await recordOf(services, sessionId));
      await held.lend(async () => {
        await onTurnComplete({ turn: completed, next: move }, session);
      });
    },
  });
  ready.subscribe(({ kind, sessionId, executionId, promptGeneration }) => {
    const after = kind === 'boot' ? 'boot' : 'prompt';
    events.publish({ name: 'session.ready', sessionId, executionId, promptGeneration, after });
  });
  ready.subscribe(async (event) => {
    if (event.kind === 'boot') return;
    try {
      await step.take(event, { signal: closed });
    } catch (error) {
      // A host that closes takes no steps; the ledger has the outcome.
      if (!closed.aborted) throw error;
    }
  });
}

/** The end is durable before it is published, except where the escalation of a cancel is ahead of everybody: then it is now. */
async function completeTurn(services: HostServices, event: ReadyEvent): Promise<TurnRecord> {
  const { ledger } = services;
  const { executionId, promptGeneration, controlTurnId, outcome } = event;
  const endedAt = services.wallTime();
  const result = await ledger.outcomes.apply({
    executionId,
    promptGeneration,
    controlTurnId,
    outcome,
    endedAt,
  });
  if (result.applied) settleOutcome(services, result);
  const turn = 'turnId' in result ? await ledger.turns.get(result.turnId) : null;
  if (turn === null) {
    throw new Error(`Prompt ${String(promptGeneration)} of execution ${executionId} has no turn.`);
  }
  return turn;
}
