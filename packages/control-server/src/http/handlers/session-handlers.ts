import type { Handlers } from '../handler.ts';

/** What is chosen for the provider session of an instance's agent. */
export const sessionHandlers: Handlers<'setSessionMode' | 'setSessionModel' | 'setSessionConfigOption'> = {
  setSessionMode: async ({ instances }, { params, body }) => {
    await instances.get(params.instanceId).choose({ kind: 'mode', ...body });
    return {};
  },

  setSessionModel: async ({ instances }, { params, body }) => {
    await instances.get(params.instanceId).choose({ kind: 'model', ...body });
    return {};
  },

  setSessionConfigOption: async ({ instances }, { params, body }) => {
    await instances.get(params.instanceId).choose({ kind: 'config_option', ...body });
    return {};
  },
};
