import type { TurnOutcome } from '@holdfast/control-protocol';
import type { ReconcilePlan } from '@holdfast/turn-ledger';
import type { ExecutionServices } from './execution-services.ts';

type SettlingServices = Pick<ExecutionServices, 'ledger' | 'results' | 'events'>;

/** An outcome has been applied, durably and for the first time: whoever waits for the turn and whoever listens hears of it. */
export function settleOutcome(
  { results, events }: Pick<ExecutionServices, 'results' | 'events'>,
  applied: {
    readonly turnId: string;
    readonly sessionId: string;
    readonly promptGeneration: number;
    readonly outcome: TurnOutcome;
  },
): void {
  const { turnId, sessionId, outcome } = applied;
  const startedBy = applied.promptGeneration === 0 ? 'agent' : 'prompt';
  results.settle(turnId, outcome);
  events.publish({ name: 'turn.outcome', sessionId, turnId, outcome, startedBy });
}

/**
 * The agent of an execution is lost: the ledger says so, and whoever waits for its open turn hears of it. Where it is not certain
 * that it is `gone` its row stays, so that no second one is launched beside it.
 */
export async function settleLostAgent(
  services: SettlingServices,
  { sessionId, executionId }: { readonly sessionId: string; readonly executionId: string },
  isGone: boolean,
): Promise<void> {
  const repair = isGone ? [executionId] : [];
  await settleSessions(services, { sessions: [{ sessionId, executionId, session: 'reconcile', repair }] });
}

/** Carries a plan out in the ledger; whoever waits for a turn that ends with it hears of that. */
export async function settleSessions(services: SettlingServices, plan: ReconcilePlan): Promise<void> {
  for (const { sessionId, abandonedTurnIds, cancelledTurns } of await services.ledger.reconcile(plan)) {
    for (const turnId of abandonedTurnIds) services.results.settleAbandoned(turnId);
    for (const cancelled of cancelledTurns) settleOutcome(services, { ...cancelled, sessionId });
  }
}
