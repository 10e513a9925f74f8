import type {
  AgentStartPhase,
  JsonObject,
  SessionChoice,
  StartAgent,
  StartedAgent,
} from '@holdfast/control-protocol';
import { AgentRequestError, type AcpConnection } from './acp-connection.ts';
import { attachmentAttempt, continuationOf, readAgentInfo, readSession } from './acp-mapping.ts';
import { ACP_VERSION, RPC_ERROR, TO_AGENT } from './acp-methods.ts';
import type { AgentListener } from './agent-listener.ts';
import { AgentSession } from './agent-session.ts';
import type { Replay } from './replay.ts';
import { AgentProtocolError, AuthenticationError, SessionNotLoadedError } from './open-session-errors.ts';

/** What opening a session needs to know and whom it tells. */
export interface OpenSessionOptions {
  readonly cwd: string;
  readonly onPhase: (phase: AgentStartPhase) => void;
  readonly replay: Pick<Replay, 'begin' | 'answered' | 'over'>;
  /** The session is open; called in wire order, before anything that the agent says of it. */
  readonly onSession: (session: AgentSession) => void;
  readonly listener: Pick<AgentListener, 'publish' | 'publishLossy'>;
}

/**
 * Brings a fresh agent to an open provider session: initialize, authenticate, session, what was chosen for it. Rejects with
 * `AgentRequestError`, `AgentGoneError` or one of the errors of `open-session-errors`; it has no time limit of its own.
 */
export async function openSession(
  connection: AcpConnection,
  start: StartAgent,
  options: OpenSessionOptions,
): Promise<Pick<StartedAgent, 'agent' | 'session'>> {
  const { onPhase, listener } = options;
  onPhase('initialize');
  const { agent, authMethodIds } = await initialize(connection);
  if (start.authMethodId !== undefined) {
    onPhase('authenticate');
    await authenticate(connection, start.authMethodId, authMethodIds);
  }

  onPhase('session');
  for (const mcpServer of start.mcpServers) listener.publishLossy(attachmentAttempt(mcpServer));
  const opening = new Opening(connection, start, options);
  let session: StartedAgent['session'];
  try {
    session = await opening.open(agent.capabilities);
  } catch (error) {
    if (!isAnswer(error, [RPC_ERROR.authenticationRequired])) throw error;
    onPhase('authenticate');
    throw new AuthenticationError('The agent wants to be authenticated first', authMethodIds, error.rpcError);
  }
  for (const choice of choicesOf(start)) {
    onPhase(choice.kind);
    await opening.session.choose(choice);
  }
  return { agent, session };
}

// Terminals are not offered: the agent runs its own commands.
const INITIALIZE: JsonObject = {
  protocolVersion: ACP_VERSION,
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
  clientInfo: { name: 'holdfast', title: 'Holdfast', version: '1' },
};

async function initialize(connection: AcpConnection): Promise<NonNullable<ReturnType<typeof readAgentInfo>>> {
  const info = readAgentInfo(await connection.request(TO_AGENT.initialize, INITIALIZE));
  if (info === undefined) {
    throw new AgentProtocolError('The agent answered initialize without a protocol version.');
  }
  const { protocolVersion } = info.agent;
  if (protocolVersion !== ACP_VERSION) {
    throw new AgentProtocolError(
      `The agent speaks ACP version ${String(protocolVersion)}; this server speaks ${String(ACP_VERSION)}.`,
    );
  }
  return info;
}

async function authenticate(
  connection: AcpConnection,
  methodId: string,
  offered: readonly string[],
): Promise<void> {
  // One that tells of none may take some all the same: it decides itself.
  if (offered.length > 0 && !offered.includes(methodId)) {
    throw new AuthenticationError(`The agent has no authMethodId "${methodId.slice(0, 100)}"`, offered, null);
  }
  await connection.request(TO_AGENT.authenticate, { methodId });
}

/** What is set once the session is open: the profile's mode and model first, then what was chosen since. */
function choicesOf({ modeId, modelId, choices = [] }: StartAgent): readonly SessionChoice[] {
  return [
    ...(modeId === undefined ? [] : [{ kind: 'mode', modeId } as const]),
    ...(modelId === undefined ? [] : [{ kind: 'model', modelId } as const]),
    ...choices,
  ];
}

/** One provider session on its way to be open. */
class Opening {
  readonly #connection: AcpConnection;
  readonly #start: StartAgent;
  readonly #options: OpenSessionOptions;
  #session: AgentSession | null = null;

  constructor(connection: AcpConnection, start: StartAgent, options: OpenSessionOptions) {
    this.#connection = connection;
    this.#start = start;
    this.#options = options;
  }

  get session(): AgentSession {
    if (this.#session === null) throw new TypeError('the session is not open yet');
    return this.#session;
  }

  async open(capabilities: JsonObject): Promise<StartedAgent['session']> {
    const { session } = this.#start;
    const { replay } = this.#options;
    if (session.kind === 'new') return await this.#request(TO_AGENT.newSession, null);
    const continuation = continuationOf(capabilities);
    if (continuation === null) throw new SessionNotLoadedError('load_not_supported', null);
    try {
      if (continuation === 'resume') {
        return await this.#request(TO_AGENT.resumeSession, session.providerSessionId);
      }
      replay.begin();
      const loaded = await this.#request(TO_AGENT.loadSession, session.providerSessionId);
      await replay.over();
      return loaded;
    } catch (error) {
      if (isAnswer(error, [RPC_ERROR.methodNotFound])) {
        throw new SessionNotLoadedError('load_not_supported', error.rpcError);
      }
      if (isAnswer(error, NOT_FOUND)) throw new SessionNotLoadedError('session_not_found', error.rpcError);
      throw error;
    }
  }

  async #request(method: string, continuedId: string | null): Promise<StartedAgent['session']> {
    const { listener, cwd, replay, onSession } = this.#options;
    const sessionId = continuedId === null ? {} : { sessionId: continuedId };
    const params = { cwd, mcpServers: this.#start.mcpServers, ...sessionId };
    let opened: StartedAgent['session'] | undefined;
    await this.#connection.request(method, params, (result) => {
      replay.answered();
      opened = readSession(result, continuedId);
      if (opened === undefined) return;
      this.#session = new AgentSession(this.#connection, listener, opened);
      onSession(this.#session);
    });
    if (opened === undefined) {
      throw new AgentProtocolError(
        `The agent answered ${method} without a session id of 1 to 4096 characters.`,
      );
    }
    return opened;
  }
}

// Agents do not agree on how they say that they do not know a session; nor do all of them say so in words.
const NOT_FOUND = [RPC_ERROR.resourceNotFound, RPC_ERROR.invalidParams, RPC_ERROR.internal];

function isAnswer(error: unknown, codes: readonly number[]): error is AgentRequestError {
  return error instanceof AgentRequestError && codes.includes(error.rpcError.code);
}
