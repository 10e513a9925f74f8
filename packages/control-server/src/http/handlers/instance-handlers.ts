import type { Handlers } from '../handler.ts';

/** Instances themselves. */
export const instanceHandlers: Handlers<
  | 'listInstances'
  | 'createInstance'
  | 'getInstance'
  | 'deleteInstance'
  | 'getReconstruction'
  | 'setWorkspaceRoots'
> = {
  listInstances: ({ instances, serverId, ownership }) => ({
    instances: instances.list().map((instance) => instance.describe()),
    ownership: { serverId, rotationId: ownership.rotation.rotationId },
  }),

  createInstance: async ({ instances, ownership, log }, { body, credential }) => {
    const instance = await instances.create(body, () => {
      ownership.refuseWhenClosing();
      ownership.authorize('driver', credential);
    });
    log.info({ instanceId: instance.instanceId }, 'an instance was created');
    return instance.describe();
  },

  getInstance: ({ instances }, { params }) => instances.get(params.instanceId).describe(),

  deleteInstance: async ({ instances, log }, { params }) => {
    await instances.remove(instances.get(params.instanceId));
    log.info({ instanceId: params.instanceId }, 'an instance was stopped');
    return { stopped: true };
  },

  getReconstruction: ({ instances }, { params }) => instances.get(params.instanceId).reconstruction(),

  setWorkspaceRoots: ({ instances }, { params, body }) => {
    instances.get(params.instanceId).setWorkspaceSourceRoots(body.workspaceSourceRoots);
    return { workspaceSourceRoots: body.workspaceSourceRoots };
  },
};
