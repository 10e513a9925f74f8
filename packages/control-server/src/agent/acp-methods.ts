import type {
  AGENT_METHODS,
  CLIENT_METHODS,
  PROTOCOL_METHODS,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk';

// The SDK's run-time part is large and not needed: its types hold these names to what the protocol says.

/** The version of the Agent Client Protocol that is spoken here. */
export const ACP_VERSION = 1 satisfies typeof PROTOCOL_VERSION;

/** What an agent can be asked or told. */
export const TO_AGENT = {
  initialize: 'initialize' satisfies (typeof AGENT_METHODS)['initialize'],
  authenticate: 'authenticate' satisfies (typeof AGENT_METHODS)['authenticate'],
  newSession: 'session/new' satisfies (typeof AGENT_METHODS)['session_new'],
  loadSession: 'session/load' satisfies (typeof AGENT_METHODS)['session_load'],
  resumeSession: 'session/resume' satisfies (typeof AGENT_METHODS)['session_resume'],
  setMode: 'session/set_mode' satisfies (typeof AGENT_METHODS)['session_set_mode'],
  /** Not in the stable protocol; the agents that have models know it. */
  setModel: 'session/set_model',
  setConfigOption: 'session/set_config_option' satisfies (typeof AGENT_METHODS)['session_set_config_option'],
  prompt: 'session/prompt' satisfies (typeof AGENT_METHODS)['session_prompt'],
  cancel: 'session/cancel' satisfies (typeof AGENT_METHODS)['session_cancel'],
} as const;

/** What an agent asks or tells. */
export const FROM_AGENT = {
  readTextFile: 'fs/read_text_file' satisfies (typeof CLIENT_METHODS)['fs_read_text_file'],
  writeTextFile: 'fs/write_text_file' satisfies (typeof CLIENT_METHODS)['fs_write_text_file'],
  update: 'session/update' satisfies (typeof CLIENT_METHODS)['session_update'],
  requestPermission:
    'session/request_permission' satisfies (typeof CLIENT_METHODS)['session_request_permission'],
  cancelRequest: '$/cancel_request' satisfies (typeof PROTOCOL_METHODS)['cancel_request'],
} as const;

/** The codes of JSON-RPC and ACP that decide something here. */
export const RPC_ERROR = {
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  authenticationRequired: -32_000,
  resourceNotFound: -32_002,
} as const;
