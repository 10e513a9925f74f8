import type { TurnOutcome } from '@holdfast/control-protocol';
import type { ReconcilePlan } from '@holdfast/turn-ledger';
import type { ExecutionServices } from './execution-services.ts';

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

/** The session's agent is gone: the ledger says so, and whoever waits for its open turn hears of it. */
export async function settleLostAgent(
  services: Pick<ExecutionServices, 'ledger' | 'results'>,
  sessionId: string,
): Promise<void> {
  await settleSessions(services, { sessions: [{ sessionId, session: 'reconcile', repair: 'all' }] });
}

/** Carries a plan out in the ledger; whoever waits for a turn that is abandoned with it hears of that. */
export async function settleSessions(
  { ledger, results }: Pick<ExecutionServices, 'ledger' | 'results'>,
  plan: ReconcilePlan,
): Promise<void> {
  for (const { abandonedTurnIds } of await ledger.reconcile(plan)) {
    for (const turnId of abandonedTurnIds) results.settleAbandoned(turnId);
  }
}
