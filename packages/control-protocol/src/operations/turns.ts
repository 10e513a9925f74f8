import { z } from 'zod';
import { Id } from '../identifiers/id.ts';
import { JsonObject } from '../identifiers/json-object.ts';
import { TurnReport } from '../turns/outcome.ts';
import { InstanceParams } from './instances.ts';
import { MAX_PROMPT_BODY_BYTES, operation } from './operation.ts';

/** One ACP content block; `type` is checked, the rest goes to the agent as it is. */
export const ContentBlock = JsonObject.refine(
  (block) => typeof block['type'] === 'string' && block['type'] !== '',
  'must be an ACP content block with a "type"',
);

/** A prompt. Its generation must be above every generation that the instance has accepted. */
export const Prompt = z.strictObject({
  promptGeneration: z.int().positive(),
  content: z.array(ContentBlock).min(1),
});
export type Prompt = z.infer<typeof Prompt>;

export const turnOperations = {
  prompt: operation({
    summary: 'Starts a turn; answers as soon as the prompt is accepted.',
    method: 'POST',
    path: '/instances/{instanceId}/prompt',
    access: 'driver',
    params: InstanceParams,
    request: Prompt,
    status: 202,
    response: z.object({ turnId: Id }),
    errors: [
      'instance_not_found',
      'agent_not_running',
      'turn_in_progress',
      'outcomes_unacknowledged',
      'shutting_down',
    ],
    maxBodyBytes: MAX_PROMPT_BODY_BYTES,
  }),
  cancel: operation({
    summary: 'Asks the agent to end the turn; a turn that is not active is left alone.',
    method: 'POST',
    path: '/instances/{instanceId}/cancel',
    access: 'driver',
    params: InstanceParams,
    request: z.strictObject({ turnId: Id }),
    status: 202,
    response: z.object({ cancelling: z.boolean() }),
    errors: ['instance_not_found'],
  }),
  getTurn: operation({
    summary: 'Reads the active turn and the retained outcomes; discards nothing.',
    method: 'GET',
    path: '/instances/{instanceId}/turn',
    access: 'driver',
    params: InstanceParams,
    response: TurnReport,
    errors: ['instance_not_found'],
  }),
  acknowledgeTurn: operation({
    summary: 'Says that an outcome is durably applied; accepted whatever the id.',
    method: 'POST',
    path: '/instances/{instanceId}/turn/ack',
    access: 'driver',
    params: InstanceParams,
    request: z.strictObject({ turnId: Id }),
    status: 204,
    errors: ['instance_not_found'],
  }),
};
