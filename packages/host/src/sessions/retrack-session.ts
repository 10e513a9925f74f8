import type { ActiveTurn, TurnReport } from '@holdfast/control-protocol';
import type { RetrackedSession } from '@holdfast/recovery';
import { runtimeOfKind } from './choices.ts';
import { goLive } from './go-live.ts';
import type { HostServices } from './host-services.ts';

/**
 * Takes a session that recovery has re-tracked: its generation goes on from the highest that was used, a turn
 * that the control server knows nothing of is ended, and its events flow again from the ledger's cursor. Nothing goes live any more
 * once the signal has aborted.
 */
export async function retrackSession(
  services: HostServices,
  retracked: RetrackedSession,
  signal: AbortSignal,
): Promise<void> {
  const { execution, record, server, instance, turn, sessionState } = retracked;
  await endUnknownTurn(services, execution.sessionId, turn);
  const { ledger } = services;
  const { executionId, sessionId, providerSessionId } = execution;
  const session = await ledger.sessions.get(sessionId);
  if (session?.providerSessionId !== providerSessionId) {
    await ledger.sessions.setProviderSession(sessionId, providerSessionId);
  }
  // The old backend may have died between the start of its agent and writing that down.
  if (session?.state === 'starting') await ledger.sessions.setState(sessionId, sessionState);
  if (record.agentProcess === null && instance.agentPid !== null) {
    // The old backend died before it had written down which process the agent is.
    const { runtime } = execution;
    const agentProcess = await runtimeOfKind(services, runtime).identify(instance.agentPid, services.closed);
    await ledger.executionWriter.setAgentProcess(executionId, agentProcess);
  }
  // A number of the old backend whose prompt never went out is used up all the same (GENERATION-03).
  const used = Math.max(turn.lastPromptGeneration, await ledger.turns.highestGeneration(executionId));
  const { active } = turn;
  const ownTurn = active?.promptGeneration === 0 ? active : null;
  if (ownTurn !== null) await beginOwnTurn(services, executionId, ownTurn);
  signal.throwIfAborted();
  goLive(
    services,
    { execution, server },
    {
      promptGeneration: used,
      active:
        active === null || active === ownTurn
          ? null
          : { generation: active.promptGeneration, turnId: active.turnId },
      agentRunning: instance.agentPid !== null,
    },
  );
}

/** The agent works on its own: the session runs, and its prompts know nothing of it (GENERATION-07). */
async function beginOwnTurn(
  { ledger, events }: HostServices,
  executionId: string,
  { turnId, startedAt }: ActiveTurn,
): Promise<void> {
  await ledger.turns.beginUnprompted({ executionId, controlTurnId: turnId, startedAt });
  // Told by each host that finds it, also where an earlier one has recorded it.
  const turn = await ledger.turns.get(turnId);
  if (turn?.state !== 'running') return;
  events.publish({ name: 'turn.unprompted', sessionId: turn.sessionId, turnId });
}

/** The old backend may have died between writing a turn down and sending its prompt. */
async function endUnknownTurn(
  { ledger, results }: HostServices,
  sessionId: string,
  { active, lastPromptGeneration }: TurnReport,
): Promise<void> {
  const open = await ledger.turns.openTurn(sessionId);
  if (open === null || open.promptGeneration === active?.promptGeneration) return;
  if (open.promptGeneration > lastPromptGeneration) {
    await ledger.turns.dispatchFailed(open.turnId, {
      code: 'backend_ended',
      message: 'the backend ended before the prompt reached the agent; prompt again',
    });
  } else {
    await ledger.turns.abandon(open.turnId);
    results.settleAbandoned(open.turnId);
  }
}
