import type { AgentStartReason } from '@holdfast/control-protocol';
import type { RpcError } from './acp-message.ts';

/** The agent answered, but not as the protocol says. */
export class AgentProtocolError extends Error {
  override readonly name = 'AgentProtocolError';
  readonly code = 'agent_protocol_error';
}

const MAX_IDS = 16;
const LONGEST_ID = 100;

/** The agent wants to be authenticated first, or not in the way that it was to be. */
export class AuthenticationError extends Error {
  override readonly name = 'AuthenticationError';
  readonly code = 'agent_authentication';
  /** The ids of the ways it offers, the first of them where there are very many. */
  readonly authMethodIds: readonly string[];
  /** What it said, or null when it was not asked. */
  readonly rpcError: RpcError | null;

  constructor(why: string, offered: readonly string[], rpcError: RpcError | null) {
    const ids = offered.slice(0, MAX_IDS).map((id) => id.slice(0, LONGEST_ID));
    super(`${why}; its authMethodIds: ${ids.length === 0 ? 'none' : ids.join(', ')}.`);
    this.authMethodIds = ids;
    this.rpcError = rpcError;
  }
}

/** The agent works, but does not go on with the conversation that it was to load. */
export class SessionNotLoadedError extends Error {
  override readonly name = 'SessionNotLoadedError';
  readonly code = 'session_not_loaded';
  readonly reason: Exclude<AgentStartReason, 'authentication_required'>;
  readonly rpcError: RpcError | null;

  constructor(reason: SessionNotLoadedError['reason'], rpcError: RpcError | null) {
    const said = rpcError === null ? '' : ` (${String(rpcError.code)}: ${rpcError.message})`;
    super(
      reason === 'load_not_supported'
        ? `The agent cannot load conversations${said}; start it with a new session.`
        : `The agent does not have that conversation any more${said}; start it with a new session.`,
    );
    this.reason = reason;
    this.rpcError = rpcError;
  }
}
