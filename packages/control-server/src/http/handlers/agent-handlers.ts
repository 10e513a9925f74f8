import { ControlError, PACKAGE_SPEC_EXPECTED, parsePackageSpec } from '@holdfast/control-protocol';
import type { Handlers } from '../handler.ts';

/** The agent of an instance, its turns and its questions. */
export const agentHandlers: Handlers<
  | 'startAgent'
  | 'stopAgent'
  | 'repairRuntime'
  | 'getAgentStderr'
  | 'prompt'
  | 'cancel'
  | 'getTurn'
  | 'acknowledgeTurn'
  | 'listPermissions'
  | 'answerPermission'
> = {
  startAgent: async ({ instances, ownership }, { params, body }) => {
    ownership.refuseWhenClosing();
    return await instances.get(params.instanceId).startAgent(body);
  },

  stopAgent: async ({ instances }, { params }) => ({
    exit: await instances.get(params.instanceId).stopAgent(),
  }),

  repairRuntime: async ({ instances, ownership }, { params, body: { packageSpec } }) => {
    ownership.refuseWhenClosing();
    if (parsePackageSpec(packageSpec) === undefined) {
      const given = JSON.stringify(packageSpec.slice(0, 200));
      throw new ControlError('invalid_package_spec', `packageSpec ${given} ${PACKAGE_SPEC_EXPECTED}.`);
    }
    try {
      return await instances.get(params.instanceId).repairRuntime(packageSpec);
    } catch (error) {
      ownership.refuseWhenClosing();
      throw error;
    }
  },

  getAgentStderr: ({ instances }, { params }) => instances.get(params.instanceId).readStderr(),

  prompt: ({ instances, ownership }, { params, body }) => {
    ownership.refuseWhenClosing();
    return { turnId: instances.get(params.instanceId).prompt(body) };
  },

  cancel: ({ instances }, { params, body }) => ({
    cancelling: instances.get(params.instanceId).cancel(body.turnId),
  }),

  getTurn: ({ instances }, { params }) => instances.get(params.instanceId).turns.report(),

  acknowledgeTurn: ({ instances }, { params, body }) => {
    instances.get(params.instanceId).turns.acknowledge(body.turnId);
    return undefined;
  },

  listPermissions: ({ instances }, { params }) => ({
    permissions: instances.get(params.instanceId).permissions.list(),
  }),

  answerPermission: ({ instances }, { params, body }) => {
    instances.get(params.instanceId).permissions.answer(params.requestId, body);
    return {};
  },
};
