import { ControlError, type ErrorCode } from '@holdfast/control-protocol';
import { NoAnswerError, UnreadableAnswerError } from '@holdfast/control-protocol/client';
import { ExecutionNotUsableError, PromptsEndedError } from '@holdfast/turn-ledger';
import type { LiveExecution } from './live-execution.ts';
import { SessionNotLiveError, SessionTakenOverError } from './session-errors.ts';

const GONE: ReadonlySet<ErrorCode> = new Set(['agent_not_running', 'instance_not_found', 'shutting_down']);

/**
 * What an error of a call on a live execution means for its session: that another backend drives it, that its agent was lost
 * meanwhile, or what it says itself.
 */
function liveError(
  { server, execution }: Pick<LiveExecution, 'server' | 'execution'>,
  error: unknown,
): unknown {
  const { sessionId } = execution;
  const ofServer =
    error instanceof ControlError || error instanceof NoAnswerError || error instanceof UnreadableAnswerError;
  if (ofServer && server.lost.aborted) return new SessionTakenOverError(sessionId, error);
  const isLost =
    error instanceof PromptsEndedError ||
    (error instanceof ExecutionNotUsableError && error.why === 'ended') ||
    (error instanceof ControlError && GONE.has(error.code)) ||
    (ofServer && server.ended.aborted);
  return isLost ? new SessionNotLiveError(sessionId, error) : error;
}

/** Makes a call on a live execution; what it rejects with says what that means for the session. */
export async function callLive<T>(
  live: LiveExecution,
  call: (live: LiveExecution) => Promise<T>,
): Promise<T> {
  try {
    return await call(live);
  } catch (error) {
    throw liveError(live, error);
  }
}

/** Reads something of a live execution, or gives what there is without one where it is lost meanwhile. */
export async function unlessLost<T>(live: LiveExecution, without: T, read: () => Promise<T>): Promise<T> {
  try {
    return await callLive(live, read);
  } catch (error) {
    if (error instanceof SessionNotLiveError) return without;
    throw error;
  }
}
