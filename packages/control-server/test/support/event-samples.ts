import type { CoveredEvent, ExcludedEvent } from '@holdfast/control-protocol';

const ENDED = { turnId: 't', promptGeneration: 1 };

/** One event of each covered class; a class without one does not compile. */
export const COVERED_SAMPLES: {
  readonly [Type in CoveredEvent['type']]: Extract<CoveredEvent, { type: Type }>;
} = {
  session_update: { type: 'session_update', update: { sessionUpdate: 'x' } },
  turn_started: { type: 'turn_started', ...ENDED },
  turn_ended: { type: 'turn_ended', ...ENDED, outcome: { kind: 'completed', stopReason: 'end_turn' } },
  agent_error: { type: 'agent_error', code: 'c', message: 'm', promptGeneration: 0 },
  agent_exited: { type: 'agent_exited', code: 0, signal: null, stderr: [], expected: true },
  permission_requested: {
    type: 'permission_requested',
    permission: {
      requestId: 'r',
      turnId: null,
      requestedAt: '2026-01-01T00:00:00.000Z',
      toolCall: {},
      options: [],
    },
  },
  permission_cancelled: { type: 'permission_cancelled', requestId: 'r', reason: 'agent_withdrew' },
  context_window: { type: 'context_window', size: 2, used: 1 },
  session_model: { type: 'session_model', currentModelId: 'm', availableModels: [] },
  session_config: { type: 'session_config', options: [] },
  session_config_changed: { type: 'session_config_changed', optionId: 'o', value: 1 },
};

/** One event of each excluded class; a class without one does not compile. */
export const EXCLUDED_SAMPLES: {
  readonly [Type in ExcludedEvent['type']]: Extract<ExcludedEvent, { type: Type }>;
} = {
  mcp_attachment_attempt: { type: 'mcp_attachment_attempt', serverName: 's', transport: 'stdio' },
  mcp_attachment_evidence: { type: 'mcp_attachment_evidence', serverName: 's', evidence: 'e' },
};
