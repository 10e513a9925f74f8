import { z } from 'zod';
import { InstanceParams } from './instances.ts';
import { operation } from './operation.ts';

/** How long an agent has to answer one of these. Changing a model may load one, or ask a provider. */
export const SESSION_CHANGE_LIMIT_MS = 60_000;

const ModeId = z.string().min(1).max(1024);
const ModelId = z.string().min(1).max(1024);
const OptionId = z.string().min(1).max(1024);

/** The value of a configuration option: the id of one of its values, or on and off. */
export const ConfigOptionValue = z.union([z.string().max(64 * 1024), z.boolean()]);
export type ConfigOptionValue = z.infer<typeof ConfigOptionValue>;

/** One thing that was chosen for a provider session. A list of them is applied in its order: a later one may change an earlier. */
export const SessionChoice = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('mode'), modeId: ModeId }),
  z.strictObject({ kind: z.literal('model'), modelId: ModelId }),
  z.strictObject({ kind: z.literal('config_option'), optionId: OptionId, value: ConfigOptionValue }),
]);
export type SessionChoice = z.infer<typeof SessionChoice>;

const row = {
  method: 'POST',
  access: 'driver',
  params: InstanceParams,
  response: z.object({}),
  errors: ['instance_not_found', 'agent_not_running', 'agent_protocol_error', 'agent_timeout'],
} as const;

export const sessionOperations = {
  setSessionMode: operation({
    ...row,
    summary: 'Sets the mode of the provider session; answers once the agent has confirmed it.',
    path: '/instances/{instanceId}/session/mode',
    request: z.strictObject({ modeId: ModeId }),
  }),
  setSessionModel: operation({
    ...row,
    summary: 'Sets the model of the provider session; answers once the agent has confirmed it.',
    path: '/instances/{instanceId}/session/model',
    request: z.strictObject({ modelId: ModelId }),
  }),
  setSessionConfigOption: operation({
    ...row,
    summary: 'Sets one option of the provider session; answers once the agent has confirmed it.',
    path: '/instances/{instanceId}/session/config-option',
    request: z.strictObject({ optionId: OptionId, value: ConfigOptionValue }),
  }),
};
