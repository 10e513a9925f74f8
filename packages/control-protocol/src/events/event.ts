import { z } from 'zod';
import { Id, PromptGeneration, SequenceNumber, Timestamp } from '../identifiers/id.ts';
import { JsonObject } from '../identifiers/json-object.ts';
import { TurnOutcome } from '../turns/outcome.ts';
import { PermissionRequest } from './permission-request.ts';

const ErrorFacts = { code: z.string(), message: z.string(), promptGeneration: PromptGeneration };

/** Why a permission request was closed without an answer. */
export const PermissionCancelReason = z.enum([
  'turn_cancelled',
  'agent_withdrew',
  'agent_exited',
  'announcement_timeout',
]);
export type PermissionCancelReason = z.infer<typeof PermissionCancelReason>;

/** What happens in an instance, one member for each event class. */
export const InstanceEvent = z.discriminatedUnion('type', [
  /** One ACP session update, as the agent sent it, unknown variants and fields included. */
  z.object({ type: z.literal('session_update'), update: JsonObject }),
  z.object({ type: z.literal('turn_started'), turnId: Id, promptGeneration: PromptGeneration }),
  z.object({
    type: z.literal('turn_ended'),
    turnId: Id,
    promptGeneration: PromptGeneration,
    outcome: TurnOutcome,
  }),
  /** Something the agent did wrong; `promptGeneration` is that of the active turn, or 0. */
  z.object({ type: z.literal('agent_error'), ...ErrorFacts }),
  z.object({
    type: z.literal('agent_exited'),
    code: z.int().nullable(),
    signal: z.string().nullable(),
    /** The last lines of its stderr, bounded. */
    stderr: z.array(z.string()),
    /** True when the backend had asked for the stop. */
    expected: z.boolean(),
  }),
  z.object({ type: z.literal('permission_requested'), permission: PermissionRequest }),
  z.object({ type: z.literal('permission_cancelled'), requestId: Id, reason: PermissionCancelReason }),
  /** How full the agent's context is, in tokens. */
  z.object({ type: z.literal('context_window'), size: z.int().nonnegative(), used: z.int().nonnegative() }),
  /** The current model and the offered ones (the agent's own objects), after a model change. */
  z.object({
    type: z.literal('session_model'),
    currentModelId: z.string(),
    availableModels: z.array(JsonObject),
  }),
  /** The options that the agent confirmed, its own objects. */
  z.object({ type: z.literal('session_config'), options: z.array(JsonObject) }),
  /** One option that the backend set. */
  z.object({ type: z.literal('session_config_changed'), optionId: z.string(), value: z.unknown() }),
  z.object({
    type: z.literal('mcp_attachment_attempt'),
    serverName: z.string(),
    transport: z.enum(['stdio', 'http', 'sse']),
  }),
  /** What showed that an agent uses an MCP server. ACP has no word for that; the control server of this version tells of none. */
  z.object({ type: z.literal('mcp_attachment_evidence'), serverName: z.string(), evidence: z.string() }),
]);
export type InstanceEvent = z.infer<typeof InstanceEvent>;
export type InstanceEventType = InstanceEvent['type'];

/** An event in its place: `seq` starts at 1 for each instance, has no gaps and is never reused. */
export const SequencedEvent = z.object({ seq: SequenceNumber, at: Timestamp, event: InstanceEvent });
export type SequencedEvent = z.infer<typeof SequencedEvent>;
