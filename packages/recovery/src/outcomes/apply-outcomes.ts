import type { TurnReport } from '@holdfast/control-protocol';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { OnRecoveryEvent } from '../events/recovery-event.ts';
import { boundedRead, type ReadSettings } from '../reconstruction/bounded-read.ts';
import type { OutcomeWriter, SessionState } from './outcome-writer.ts';

/**
 * Applies every retained outcome durably, oldest first, and gives the state to publish the session in: running while a turn is
 * active, else what the last outcome gave, else waiting for input (SURVIVAL-004.2).
 */
export async function applyOutcomes(
  outcomes: OutcomeWriter,
  executionId: string,
  { active, retained }: TurnReport,
): Promise<SessionState> {
  let state: SessionState = 'waiting_for_input';
  for (const { turnId, promptGeneration, outcome, endedAt } of retained.toSorted((a, b) => a.seq - b.seq)) {
    const applied = await outcomes.apply({
      executionId,
      promptGeneration,
      controlTurnId: turnId,
      outcome,
      endedAt,
    });
    state = applied.sessionState;
  }
  return active === null ? state : 'running';
}

/**
 * Tells the server which outcomes are durably applied; it forgets them (SURVIVAL-004.6). To be called after
 * {@link applyOutcomes} only. What cannot be told now is told at the next adoption, when applying it again changes nothing.
 */
export async function acknowledgeOutcomes(
  { settings, onEvent }: { readonly settings: ReadSettings; readonly onEvent: OnRecoveryEvent },
  { server, sessionId, instanceId }: { server: OwnedControlServer; sessionId: string; instanceId: string },
  { retained }: TurnReport,
): Promise<void> {
  for (const { turnId } of retained) {
    const told = await boundedRead(
      { settings, retryAnswered: true },
      async (limits) => await server.client.call('acknowledgeTurn', { instanceId, turnId }, limits),
    );
    if (told.kind !== 'read') {
      onEvent({ name: 'outcome.not_acknowledged', sessionId, turnId, detail: told.error.message });
    }
  }
}
