import type { InstanceEvent, InstanceEventType } from './event.ts';

/**
 * Whether a full journal pauses the producer of a class (`covered`) or the event is let go (`excluded`). Every class has
 * exactly one row: one without does not compile (CONTRACT-11).
 */
export const EVENT_RETENTION = {
  session_update: 'covered',
  turn_started: 'covered',
  turn_ended: 'covered',
  agent_error: 'covered',
  agent_exited: 'covered',
  permission_requested: 'covered',
  permission_cancelled: 'covered',
  context_window: 'covered',
  session_model: 'covered',
  session_config: 'covered',
  session_config_changed: 'covered',
  mcp_attachment_attempt: 'excluded',
  mcp_attachment_evidence: 'excluded',
} as const satisfies Record<InstanceEventType, 'covered' | 'excluded'>;

type TypesWith<Retention> = {
  [K in InstanceEventType]: (typeof EVENT_RETENTION)[K] extends Retention ? K : never;
}[InstanceEventType];

/** An event that is kept, in order, until a backend acknowledges it. */
export type CoveredEvent = Extract<InstanceEvent, { type: TypesWith<'covered'> }>;

/** An event about the wiring, not about the agent's work: it never waits and may be lost. */
export type ExcludedEvent = Extract<InstanceEvent, { type: TypesWith<'excluded'> }>;
