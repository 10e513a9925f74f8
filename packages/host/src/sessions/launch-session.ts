import type { LaunchedInstance } from '@holdfast/executor-contract';
import { RUN_ID_VARIABLE, createExecution } from '@holdfast/recovery';
import type { SessionRecord } from '@holdfast/turn-ledger';
import { admitLaunch } from '../liveness/admit-launch.ts';
import { agentNamed, runtimeOfKind } from './choices.ts';
import { goLive } from './go-live.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';
import { startAgent } from './start-agent.ts';

/** What a launch is given beside the session. */
export interface LaunchOptions {
  /** The host's own name for this attempt, carried as `KANDEV_RUN_ID`. */
  readonly runId: string | null;
  readonly signal: AbortSignal;
}

/**
 * Gives a session a live execution: an instance, its row in the recovery inventory, and an agent whose provider session is
 * new or, where the session had one, loaded. What a failed launch made is taken down again.
 */
export async function launchSession(
  services: HostServices,
  session: SessionRecord,
  { runId, signal: given }: LaunchOptions,
): Promise<LiveExecution> {
  return await services.starts.run(
    session.sessionId,
    given,
    async (signal) => await launch(services, session, { runId, signal }),
  );
}

async function launch(
  services: HostServices,
  session: SessionRecord,
  { runId, signal }: LaunchOptions,
): Promise<LiveExecution> {
  const { sessionId, taskId, workspacePath, agentProfileId } = session;
  services.patience.assertCertain();
  await admitLaunch(services, session, signal);
  const profile = agentNamed(services, agentProfileId);
  const executionId = services.newId();
  const environment = {
    ...profile.environment,
    ...(runId === null ? {} : { [RUN_ID_VARIABLE]: runId }),
  };
  const launched = await runtimeOfKind(services, session.runtime).launch(
    { executionId, sessionId, taskId, workspacePath, workspaceSourceRoots: [workspacePath], environment },
    signal,
  );
  const { server, instance } = launched;
  const values = {
    executionId,
    sessionId,
    taskId,
    runtime: session.runtime,
    scope: server.scope,
    instanceId: instance.instanceId,
    agentProfileId,
    workspacePath,
    containerId: null,
    metadata: session.metadata,
  };
  const row = { ...values, serverId: server.serverId };
  try {
    await services.ledger.executionWriter.insert(row);
    services.liveness.launched(executionId);
    const started = await startAgent(services, session, { ...launched, executionId }, signal);
    const { providerSessionId } = started.session;
    await services.ledger.sessions.setState(sessionId, 'waiting_for_input');
    signal.throwIfAborted();
    const execution = createExecution({
      ...values,
      workspaceSourceRoots: [workspacePath],
      environment,
      providerSessionId,
      lastPromptGeneration: 0,
      runId,
      taskEnvironmentId: session.taskEnvironmentId,
      agentId: profile.agentId,
      command: profile.command,
      continuationCommand: profile.continuationCommand,
      history: profile.history,
    });
    return goLive(services, { execution, server }, { promptGeneration: 0, active: null, agentRunning: true });
  } catch (error) {
    await takeDown(services, launched, executionId);
    throw error;
  }
}

async function takeDown(
  { ledger, patience, events, closed }: HostServices,
  { server, instance }: LaunchedInstance,
  executionId: string,
): Promise<void> {
  try {
    await server.client.call('deleteInstance', { instanceId: instance.instanceId });
    await patience.nowOrLater(
      `the end of the row of ${executionId}`,
      async () => await ledger.executionWriter.end(executionId, 'launch_failed'),
      closed,
    );
  } catch (error) {
    // Its row stays, so the next recovery sees the instance and deals with it.
    events.publish({ name: 'host.error', what: `taking down the launch ${executionId}`, error });
  }
}
