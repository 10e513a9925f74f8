import { ControlError } from '@holdfast/control-protocol';
import { AgentNotGoneError } from '@holdfast/recovery';
import { SessionNotLiveError } from './session-errors.ts';
import { assertGone } from '../liveness/admit-launch.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';
import { assertOurs } from './require-live.ts';
import { settleLostAgent, settleSessions } from './settle.ts';
import { STOP_TIMEOUT_MS } from './stop-timeout.ts';

/**
 * Stops a session's agent with all that it started, wherever this host can reach it, under the session's guard. Its open turn is
 * cancelled, unless it has ended already; its task stays as it is. Throws `AgentNotGoneError` where an agent of it is out of
 * this host's hands.
 */
export async function stopSession(services: HostServices, sessionId: string): Promise<void> {
  assertOurs(services, sessionId);
  const { ledger, liveness, live: all, pending } = services;
  const live = all.get(sessionId);
  // The end of a turn that is known already is the one that counts, though its event may still be on its way.
  const isOpen = live !== undefined && (await ledger.turns.openTurn(sessionId)) !== null;
  try {
    const isGone = await liveness.whileStopping(sessionId, async () => {
      if (live !== undefined && (await stopLive(live, isOpen))) return true;
      await stopOthers(services, sessionId);
      return false;
    });
    if (!isGone) await assertLost(services, sessionId, live);
  } finally {
    // Where it failed before anything was let go of, they have something to wait for still.
    if (!all.has(sessionId)) pending.rejectAll(sessionId, new SessionNotLiveError(sessionId));
  }
  await settleSessions(services, { sessions: [{ sessionId, session: 'stop', repair: 'all' }] });
  await ledger.sessions.setState(sessionId, 'stopped');
}

/** Stops an instance; false where its server has ended, whatever has become of the agent. */
async function stopLive(live: LiveExecution, isOpen: boolean): Promise<boolean> {
  const { instanceId } = live.execution;
  try {
    if (isOpen) await live.settleRetained();
    await live.release();
    await live.client.call('deleteInstance', { instanceId }, { timeoutMs: STOP_TIMEOUT_MS });
    return true;
  } catch (error) {
    if (error instanceof ControlError && error.code === 'instance_not_found') {
      await live.release();
      return true;
    }
    if (!live.server.ended.aborted) throw error;
    await live.release();
    return false;
  }
}

/** An agent that outlives its server is lost, and with it the turn that it was to be stopped in. */
async function assertLost(
  services: HostServices,
  sessionId: string,
  live: LiveExecution | undefined,
): Promise<void> {
  try {
    await assertGone(services, sessionId, services.closed);
  } catch (error) {
    if (live !== undefined) await settleLostAgent(services, live.execution, false);
    throw error;
  }
}

/** Instances that this host does not work with any more, e.g. because an earlier stop of theirs failed. */
async function stopOthers({ liveness, servers, closed }: HostServices, sessionId: string): Promise<void> {
  const enumerations = await liveness.enumerate(closed);
  for (const { scope, instanceId } of enumerations.instancesOf(sessionId)) {
    const server = servers().find((candidate) => candidate.scope === scope);
    const stop = await server?.stopInstance(instanceId);
    if (stop?.kind === 'not_stopped') {
      throw new AgentNotGoneError({ sessionId, liveness: 'alive', why: stop.detail });
    }
  }
}
