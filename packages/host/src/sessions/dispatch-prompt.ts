import { ControlError, type JsonObject } from '@holdfast/control-protocol';
import { NoAnswerError, UnreadableAnswerError } from '@holdfast/control-protocol/client';
import { TurnOpenError } from '@holdfast/turn-ledger';
import { PromptUnresolvedError, TurnInProgressError } from './session-errors.ts';
import { isAway } from './ledger-patience.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';

/**
 * Sends a prompt and gives the id of its turn. The turn is in the ledger before the prompt goes out, so an outcome always
 * finds it. Throws {@link TurnInProgressError}, what the control server refused, or {@link PromptUnresolvedError} when the
 * server did not say; then the turn stays open until it does.
 */
export async function dispatchPrompt(
  services: HostServices,
  live: LiveExecution,
  content: readonly JsonObject[],
): Promise<string> {
  const { ledger } = services;
  const { sessionId, instanceId } = live.execution;
  // No attempt, so no number: the prompt that runs keeps its place.
  if (live.lifecycle.state.status === 'running') throw new TurnInProgressError(sessionId);
  const turnId = services.newId();
  const promptGeneration = await begin(services, live, turnId, content);
  try {
    const accepted = await live.client.call('prompt', {
      instanceId,
      promptGeneration,
      content: [...content],
    });
    live.lifecycle.accepted(promptGeneration, accepted.turnId);
    await ledger.turns.accepted(turnId, accepted.turnId);
  } catch (error) {
    if (await wasAccepted(live, promptGeneration, error, turnId)) return turnId;
    if (error instanceof ControlError && error.code === 'agent_not_running') live.agentRunning = false;
    live.lifecycle.dispatchFailed(promptGeneration);
    await failDispatch(services, turnId, error);
    if (error instanceof ControlError && error.code === 'turn_in_progress') {
      throw new TurnInProgressError(sessionId);
    }
    throw error;
  }
  return turnId;
}

/** Ends the turn of a prompt that went nowhere; where the ledger is away, as soon as it is back. */
async function failDispatch(services: HostServices, turnId: string, why: unknown): Promise<void> {
  const { ledger, patience, closed } = services;
  await patience.nowOrLater(
    `the end of turn ${turnId}, which was not dispatched`,
    async () => await ledger.turns.dispatchFailed(turnId, describeFailure(why)),
    closed,
  );
}

async function begin(
  services: HostServices,
  live: LiveExecution,
  turnId: string,
  content: readonly JsonObject[],
): Promise<number> {
  const { ledger, patience } = services;
  const { lifecycle, execution } = live;
  const { executionId, sessionId } = execution;
  patience.assertCertain();
  // The number advances before every attempt, and an attempt that fails uses it up (GENERATION-02, -03).
  const { promptGeneration } = lifecycle.beginPrompt().identity;
  try {
    await ledger.turns.begin({ turnId, sessionId, executionId, promptGeneration, content });
    return promptGeneration;
  } catch (error) {
    lifecycle.dispatchFailed(promptGeneration);
    if (isAway(error) && error.mayBeStored) await failDispatch(services, turnId, error);
    throw error instanceof TurnOpenError ? new TurnInProgressError(sessionId) : error;
  }
}

/**
 * Whether the server has the prompt all the same. What it answered is final, and a refused connection carried nothing; where it did
 * not answer it is asked.
 */
async function wasAccepted(
  { client, execution, lifecycle }: LiveExecution,
  promptGeneration: number,
  error: unknown,
  turnId: string,
): Promise<boolean> {
  if (error instanceof ControlError || neverLeft(error)) return false;
  try {
    const report = await client.call('getTurn', { instanceId: execution.instanceId });
    if (report.lastPromptGeneration < promptGeneration) return false;
    const { active } = report;
    if (active?.promptGeneration === promptGeneration) lifecycle.accepted(promptGeneration, active.turnId);
    return true;
  } catch {
    throw new PromptUnresolvedError(turnId, error);
  }
}

function neverLeft(error: unknown): boolean {
  return error instanceof NoAnswerError && error.systemCode === 'ECONNREFUSED';
}

function describeFailure(error: unknown): { readonly code: string; readonly message: string } {
  const told =
    error instanceof ControlError ||
    error instanceof NoAnswerError ||
    error instanceof UnreadableAnswerError ||
    isAway(error);
  return told
    ? { code: error.code, message: error.message }
    : { code: 'dispatch_failed', message: String(error) };
}
