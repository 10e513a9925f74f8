import type { AgentStartPhase, JsonObject, StartAgent, StartedAgent } from '@holdfast/control-protocol';
import type { z } from 'zod';
import type { AcpConnection } from './acp-connection.ts';
import { attachmentAttempt, modelEvent, readAgentInfo, readSession } from './acp-mapping.ts';
import { ACP_VERSION, TO_AGENT } from './acp-methods.ts';
import type { AgentListener } from './agent-listener.ts';

/** The agent answered, but not as the protocol says. */
export class AgentProtocolError extends Error {
  override readonly name = 'AgentProtocolError';
  readonly code = 'agent_protocol_error';
}

/** What opening a session needs to know and whom it tells. */
export interface OpenSessionOptions {
  readonly cwd: string;
  readonly onPhase: (phase: z.infer<typeof AgentStartPhase>) => void;
  /** True from the request for a load to its answer, both in wire order. */
  readonly onReplay: (replaying: boolean) => void;
  readonly listener: Pick<AgentListener, 'publish' | 'publishLossy'>;
}

/**
 * Brings a fresh agent to an open provider session: initialize, authenticate, session, mode, model. Rejects with
 * `AgentRequestError`, `AgentGoneError` or {@link AgentProtocolError}; it has no time limit of its own.
 */
export async function openSession(
  connection: AcpConnection,
  start: StartAgent,
  options: OpenSessionOptions,
): Promise<Pick<StartedAgent, 'agent' | 'session'>> {
  const { onPhase, listener } = options;
  onPhase('initialize');
  const agent = readAgentInfo(await connection.request(TO_AGENT.initialize, INITIALIZE));
  if (agent === undefined)
    throw new AgentProtocolError('The agent answered initialize without a protocol version.');
  if (agent.protocolVersion !== ACP_VERSION) {
    throw new AgentProtocolError(
      `The agent speaks ACP version ${String(agent.protocolVersion)}; this server speaks ${String(ACP_VERSION)}.`,
    );
  }
  if (start.authMethodId !== undefined) {
    onPhase('authenticate');
    await connection.request(TO_AGENT.authenticate, { methodId: start.authMethodId });
  }

  onPhase('session');
  for (const mcpServer of start.mcpServers) listener.publishLossy(attachmentAttempt(mcpServer));
  const session = await requestSession(connection, start, options);
  const { providerSessionId } = session;
  if (start.modeId !== undefined) {
    onPhase('mode');
    await connection.request(TO_AGENT.setMode, { sessionId: providerSessionId, modeId: start.modeId });
  }
  if (start.modelId !== undefined) {
    onPhase('model');
    await connection.request(TO_AGENT.setModel, { sessionId: providerSessionId, modelId: start.modelId });
    await listener.publish(modelEvent(session.models, start.modelId));
  }
  return { agent, session };
}

// Terminals are not offered: the agent runs its own commands.
const INITIALIZE: JsonObject = {
  protocolVersion: ACP_VERSION,
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
  clientInfo: { name: 'holdfast', title: 'Holdfast', version: '1' },
};

async function requestSession(
  connection: AcpConnection,
  { session, mcpServers }: StartAgent,
  { cwd, onReplay }: OpenSessionOptions,
): Promise<StartedAgent['session']> {
  const method = session.kind === 'load' ? TO_AGENT.loadSession : TO_AGENT.newSession;
  const loadedId = session.kind === 'load' ? session.providerSessionId : null;
  const params = loadedId === null ? { cwd, mcpServers } : { cwd, mcpServers, sessionId: loadedId };
  if (loadedId !== null) onReplay(true);
  const result = await connection.request(method, params, () => {
    onReplay(false);
  });
  const opened = readSession(result, loadedId);
  if (opened === undefined)
    throw new AgentProtocolError(`The agent answered ${method} without a session id.`);
  return opened;
}
