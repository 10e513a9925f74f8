import {
  ControlError,
  NPM_RUNTIME_CAPABILITY,
  type AgentStartReason,
  type NpmPreference,
  type SessionChoice,
  type StartedAgent,
} from '@holdfast/control-protocol';
import { NoAnswerError, UnreadableAnswerError } from '@holdfast/control-protocol/client';
import type { LaunchedInstance, OwnedControlServer } from '@holdfast/executor-contract';
import type { SessionRecord } from '@holdfast/turn-ledger';
import { commandFor, type AgentProfile } from '../agents/agent-options.ts';
import { AgentStartFailedError } from './agent-start-errors.ts';
import { agentNamed, runtimeOfKind } from './choices.ts';
import type { HostServices } from './host-services.ts';
import { runStart } from './managed-start/run-start.ts';
import { isStaleMetadata, startFailureOf } from './managed-start/start-failure.ts';
import type { RepairAbility, RuntimeRepair } from './managed-start/start-plan.ts';
import { stopAgent } from './stop-agent.ts';

// A cold agent may fetch its packages first; the control server keeps the closer limits of each phase.
const START_MS = 10 * 60_000;
// Beyond the agent's own time: other cold starts of the same package come first, and a failed child has to end.
const AROUND_START_MS = 5 * 60_000;
// npm is asked for its cache, and a large copy takes a while to remove.
const REPAIR_TIMEOUT_MS = 120_000;

/** An agent that was started, and what became of the conversation that its session had. */
interface OpenedAgent {
  readonly agent: StartedAgent;
  readonly history: 'loaded' | 'lost' | null;
  /** Why it was lost. */
  readonly why?: string;
}

/** An instance, and the execution that it is in the ledger. */
export interface ExecutionInstance extends LaunchedInstance {
  readonly executionId: string;
}

/**
 * Starts the agent of an instance that has none, with the session's history where it has one, and writes down which process and
 * which conversation it is: the same for a launch and for an agent that is missing. While it starts no process is written down,
 * so that nobody takes that of an earlier one for it. Where npm's stale metadata is in the way that is repaired, once. Rejects
 * with {@link AgentStartFailedError}, or with the signal's reason; then nothing of the agent is left.
 */
export async function startAgent(
  services: HostServices,
  session: SessionRecord,
  execution: ExecutionInstance,
  signal: AbortSignal,
): Promise<StartedAgent> {
  const { executionWriter, sessions } = services.ledger;
  const { sessionId, runtime } = session;
  const { executionId, server, instance } = execution;
  let isStarted = false;
  try {
    await executionWriter.setAgentProcess(executionId, null);
    const started = await carryOut(services, session, execution, signal);
    isStarted = true;
    const agentProcess = await runtimeOfKind(services, runtime).identify(started.agentPid, signal);
    await executionWriter.setAgentProcess(executionId, agentProcess);
    await sessions.setProviderSession(sessionId, started.session.providerSessionId);
    // Until here a stop or a cancel still finds a start that is under way.
    signal.throwIfAborted();
    return started;
  } catch (error) {
    const isOver = isStarted || signal.aborted;
    // A host that closes leaves what its servers are at to them.
    if (isOver && !services.closed.aborted) await giveUp(services, sessionId, server, instance.instanceId);
    throw error;
  }
}

async function carryOut(
  services: HostServices,
  session: SessionRecord,
  { server, instance }: LaunchedInstance,
  signal: AbortSignal,
): Promise<StartedAgent> {
  const profile = agentNamed(services, session.agentProfileId);
  const { instanceId } = instance;
  const end = await runStart(
    {
      ability: repairAbility(services, session.runtime, profile),
      start: async (preference) =>
        await openAgent(
          { server, instanceId, profile, choices: session.choices, preference, signal },
          session.providerSessionId,
        ),
      stop: async () => {
        await stopAgent(server, instanceId);
      },
      repair: async (packageSpec) =>
        await server.client.call(
          'repairRuntime',
          { instanceId, packageSpec },
          { timeoutMs: REPAIR_TIMEOUT_MS, signal },
        ),
      isStale: isStaleMetadata,
      codeOf,
    },
    signal,
  );
  if (end.at === 'failed') throw startError(session, end.failure, end.repair);
  tell(services, session, profile, { ...end.started, repair: end.repair });
  return end.started.agent;
}

interface StartCall {
  readonly server: OwnedControlServer;
  readonly instanceId: string;
  readonly profile: AgentProfile;
  /** What was chosen for the session: it stands in place of the profile's. */
  readonly choices: readonly SessionChoice[];
  readonly preference: NpmPreference;
  readonly signal: AbortSignal;
}

async function openAgent(call: StartCall, providerSessionId: string | null): Promise<OpenedAgent> {
  if (providerSessionId === null) return { agent: await callStart(call, null), history: null };
  const { history } = call.profile;
  let why = 'The agent is to start without its history.';
  if (history !== 'none') {
    try {
      return { agent: await callStart(call, providerSessionId), history: 'loaded' };
    } catch (error) {
      if (history === 'required' || !isNotLoaded(error)) throw error;
      why = error.message;
    }
  }
  return { agent: await callStart(call, null), history: 'lost', why };
}

async function callStart(
  { server, instanceId, profile, choices, preference, signal }: StartCall,
  providerSessionId: string | null,
): Promise<StartedAgent> {
  const { npm, mcpServers, approval, modeId, modelId, authMethodId, startBudgetMs, memoryLimitBytes } =
    profile;
  const isChosen = (kind: SessionChoice['kind']): boolean => choices.some((choice) => choice.kind === kind);
  // A server that an older backend left behind may not know of it, and runs the command as any other.
  const isManaged = npm !== null && server.capabilities.includes(NPM_RUNTIME_CAPABILITY);
  return await server.client.call(
    'startAgent',
    {
      instanceId,
      command: [...commandFor(profile, providerSessionId === null ? 'new' : 'load', preference)],
      session: providerSessionId === null ? { kind: 'new' } : { kind: 'load', providerSessionId },
      mcpServers: [...mcpServers],
      approval,
      ...(isManaged ? { npmRuntime: { packageSpec: npm.packageSpec } } : {}),
      ...(modeId === null || isChosen('mode') ? {} : { modeId }),
      ...(modelId === null || isChosen('model') ? {} : { modelId }),
      ...(authMethodId === null ? {} : { authMethodId }),
      ...(choices.length === 0 ? {} : { choices: [...choices] }),
      ...(startBudgetMs === null ? {} : { startBudgetMs }),
      ...(memoryLimitBytes === null ? {} : { memoryLimitBytes }),
    },
    { timeoutMs: (startBudgetMs ?? START_MS) + AROUND_START_MS, signal },
  );
}

const NOT_LOADED: readonly AgentStartReason[] = ['session_not_found', 'load_not_supported'];

/** The agent runs, but has no session of that name any more, or never could load one. */
function isNotLoaded(error: unknown): error is ControlError {
  if (!(error instanceof ControlError)) return false;
  return NOT_LOADED.some((known) => known === error.details?.['reason']);
}

function repairAbility(services: HostServices, kind: string, { npm }: AgentProfile): RepairAbility {
  if (npm === null) return { kind: 'refused', why: 'npm does not run it' };
  return runtimeOfKind(services, kind).traits.repairsNpmRuntimes
    ? { kind: 'able', packageSpec: npm.packageSpec }
    : { kind: 'refused', why: `runtime ${kind} does not repair the packages that npm runs` };
}

function startError(
  { sessionId, agentProfileId }: SessionRecord,
  failure: unknown,
  repair: RuntimeRepair | null,
): unknown {
  if (!(failure instanceof ControlError)) return failure;
  return new AgentStartFailedError({
    sessionId,
    agent: agentProfileId,
    ...startFailureOf(failure),
    repair,
    cause: failure,
  });
}

function codeOf(error: unknown): string {
  const told =
    error instanceof ControlError || error instanceof NoAnswerError || error instanceof UnreadableAnswerError;
  return told ? error.code : 'unknown';
}

function tell(
  { events }: HostServices,
  { sessionId, agentProfileId }: SessionRecord,
  { npm }: AgentProfile,
  {
    history,
    why = '',
    repair,
  }: Pick<OpenedAgent, 'history' | 'why'> & { readonly repair: RuntimeRepair | null },
): void {
  if (npm !== null && repair !== null) {
    events.publish({
      name: 'runtime.repaired',
      sessionId,
      agent: agentProfileId,
      packageSpec: npm.packageSpec,
      removed: repair.kind === 'repaired' && repair.removed,
    });
  }
  if (history === 'loaded') events.publish({ name: 'session.restarted', sessionId, history });
  if (history === 'lost') events.publish({ name: 'session.restarted', sessionId, history, why });
}

/** The server may be in the middle of a start that nobody waits for any more, or through with it. */
async function giveUp(
  { events }: HostServices,
  sessionId: string,
  server: OwnedControlServer,
  instanceId: string,
): Promise<void> {
  try {
    await stopAgent(server, instanceId);
  } catch (error) {
    events.publish({ name: 'host.error', what: `giving up the start of an agent of ${sessionId}`, error });
  }
}
