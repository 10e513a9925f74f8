import { z } from 'zod';
import { Id, Timestamp } from '../identifiers/id.ts';
import { JsonObject } from '../identifiers/json-object.ts';

/**
 * One answer that an agent offers, its own object: what else it says of it is kept. Choose by `kind`: ids differ between agents.
 */
export const PermissionOption = z.looseObject({
  optionId: z.string().min(1),
  name: z.string(),
  /** `allow_once`, `allow_always`, `reject_once`, `reject_always`; agents may know more. */
  kind: z.string(),
});
export type PermissionOption = z.infer<typeof PermissionOption>;

/** A question of the agent that waits for an answer of the backend. */
export const PermissionRequest = z.object({
  requestId: Id,
  /** The turn in which it was asked; null when none was active. */
  turnId: Id.nullable(),
  requestedAt: Timestamp,
  /** The agent's own description of the tool call, untouched. */
  toolCall: JsonObject,
  options: z.array(PermissionOption),
  /** The agent's own `_meta` of the request, untouched; left out where it gave none. */
  _meta: JsonObject.optional(),
});
export type PermissionRequest = z.infer<typeof PermissionRequest>;
