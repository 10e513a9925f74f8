import { AgentNotGoneError } from '@holdfast/recovery';
import type { HostServices } from '../sessions/host-services.ts';
import { runtimeOfKind } from '../sessions/choices.ts';
import { sessionLiveness } from './session-liveness.ts';

/**
 * To be asked before a session is launched: no session gets a second agent. Refuses while it is being recovered or could not be
 * stopped, and while an agent of it is alive or may be. A row whose process is gone by now is repaired, so that the session can be
 * launched again. Throws `SessionRecoveringError`, `AgentUnstoppableError` or {@link AgentNotGoneError}.
 */
export async function admitLaunch(
  services: HostServices,
  { sessionId, runtime }: { readonly sessionId: string; readonly runtime: string },
  signal: AbortSignal,
): Promise<void> {
  const admission = services.guards.admitLaunch(sessionId);
  if (admission.kind === 'refused') throw admission.error;
  // A control server that is adopted only now may have an agent of the session.
  await runtimeOfKind(services, runtime).open(signal);
  try {
    await assertGone(services, sessionId, signal);
  } catch (error) {
    if (error instanceof AgentNotGoneError) {
      services.events.publish({ name: 'launch.refused', sessionId, why: error.code });
    }
    throw error;
  }
}

/** Repairs the session's row if its process is gone by now; throws {@link AgentNotGoneError} while that is not certain. */
export async function assertGone(
  services: HostServices,
  sessionId: string,
  signal: AbortSignal,
): Promise<void> {
  const { liveness, why, executionId } = await sessionLiveness(services, sessionId, signal);
  if (liveness !== 'gone') throw new AgentNotGoneError({ sessionId, liveness, why });
  if (executionId !== null) await services.ledger.executionWriter.repair([executionId]);
}
