import {
  ControlError,
  type AgentStartReason,
  type SessionChoice,
  type StartedAgent,
} from '@holdfast/control-protocol';
import type { ControlClient } from '@holdfast/control-protocol/client';
import type { LaunchedInstance } from '@holdfast/executor-contract';
import { RUN_ID_VARIABLE, createExecution } from '@holdfast/recovery';
import type { SessionRecord } from '@holdfast/turn-ledger';
import { AgentStartFailedError } from '../host-errors.ts';
import type { AgentProfile } from '../agent-profile.ts';
import { admitLaunch } from '../liveness/admit-launch.ts';
import { agentNamed, runtimeOfKind } from './choices.ts';
import { goLive } from './go-live.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';

// A cold agent may fetch its packages first; the control server keeps the closer limits of each phase.
const START_TIMEOUT_MS = 15 * 60_000;

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
    await services.ledger.sessions.setProviderSession(sessionId, providerSessionId);
    await services.ledger.sessions.setState(sessionId, 'waiting_for_input');
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

/** An instance, and the execution that it is in the ledger. */
export interface ExecutionInstance extends LaunchedInstance {
  readonly executionId: string;
}

/**
 * Starts the agent of an instance that has none, with the session's history where it has one, and writes down which process it
 * is. While it starts none is written down, so that nobody takes the process of an earlier one for it.
 */
export async function startAgent(
  services: HostServices,
  session: SessionRecord,
  execution: ExecutionInstance,
  signal: AbortSignal,
): Promise<StartedAgent> {
  const { executionWriter } = services.ledger;
  const { executionId } = execution;
  await executionWriter.setAgentProcess(executionId, null);
  const started = await startWithHistory(services, session, execution, signal);
  const agentProcess = await runtimeOfKind(services, session.runtime).identify(started.agentPid, signal);
  await executionWriter.setAgentProcess(executionId, agentProcess);
  return started;
}

async function startWithHistory(
  services: HostServices,
  session: SessionRecord,
  { server, instance }: LaunchedInstance,
  signal: AbortSignal,
): Promise<StartedAgent> {
  const { agentProfileId, sessionId, providerSessionId, choices } = session;
  const profile = agentNamed(services, agentProfileId);
  const start = async (kind: 'new' | 'load', load: string): Promise<StartedAgent> =>
    await callStart(
      server.client,
      instance.instanceId,
      { profile, choices, load: kind === 'new' ? null : load },
      signal,
    );
  try {
    if (providerSessionId === null) return await start('new', '');
    /** What was loaded, or why nothing was. */
    const load = async (): Promise<StartedAgent | string> => {
      if (profile.history === 'none') return 'The agent is to start without its history.';
      try {
        return await start('load', providerSessionId);
      } catch (error) {
        if (profile.history === 'required' || !isNotLoaded(error)) throw error;
        return error.message;
      }
    };
    const loaded = await load();
    if (typeof loaded !== 'string') {
      services.events.publish({ name: 'session.restarted', sessionId, history: 'loaded' });
      return loaded;
    }
    const started = await start('new', '');
    services.events.publish({ name: 'session.restarted', sessionId, history: 'lost', why: loaded });
    return started;
  } catch (error) {
    throw error instanceof ControlError ? new AgentStartFailedError(sessionId, agentProfileId, error) : error;
  }
}

async function callStart(
  client: ControlClient,
  instanceId: string,
  how: {
    readonly profile: AgentProfile;
    readonly choices: readonly SessionChoice[];
    readonly load: string | null;
  },
  signal: AbortSignal,
): Promise<StartedAgent> {
  const { profile, choices, load } = how;
  const { modeId, modelId, authMethodId, memoryLimitBytes } = profile;
  // What was chosen for the session stands in place of the profile's.
  const isChosen = (kind: SessionChoice['kind']): boolean => choices.some((choice) => choice.kind === kind);
  return await client.call(
    'startAgent',
    {
      instanceId,
      command: [...(load === null ? profile.command : profile.continuationCommand)],
      session: load === null ? { kind: 'new' } : { kind: 'load', providerSessionId: load },
      mcpServers: [...profile.mcpServers],
      approval: profile.approval,
      ...(modeId === null || isChosen('mode') ? {} : { modeId }),
      ...(modelId === null || isChosen('model') ? {} : { modelId }),
      ...(authMethodId === null ? {} : { authMethodId }),
      ...(choices.length === 0 ? {} : { choices: [...choices] }),
      ...(memoryLimitBytes === null ? {} : { memoryLimitBytes }),
    },
    { timeoutMs: START_TIMEOUT_MS, signal },
  );
}

const NOT_LOADED: readonly AgentStartReason[] = ['session_not_found', 'load_not_supported'];

/** The agent runs, but has no session of that name any more, or never could load one. */
function isNotLoaded(error: unknown): error is ControlError {
  if (!(error instanceof ControlError)) return false;
  return NOT_LOADED.some((known) => known === error.details?.['reason']);
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
