import { z } from 'zod';
import { PermissionRequest } from '../events/permission-request.ts';
import { Id } from '../identifiers/id.ts';
import { InstanceParams } from './instances.ts';
import { operation } from './operation.ts';

/** One of the offered options, or the word that there will be no answer. */
export const PermissionAnswer = z.union([
  z.strictObject({ optionId: z.string().min(1) }),
  z.strictObject({ cancelled: z.literal(true) }),
]);
export type PermissionAnswer = z.infer<typeof PermissionAnswer>;

export const permissionOperations = {
  listPermissions: operation({
    summary: 'Lists the permission requests that wait for an answer.',
    method: 'GET',
    path: '/instances/{instanceId}/permissions',
    access: 'driver',
    params: InstanceParams,
    response: z.object({ permissions: z.array(PermissionRequest) }),
    errors: ['instance_not_found'],
  }),
  answerPermission: operation({
    summary: 'Answers a permission request.',
    method: 'POST',
    path: '/instances/{instanceId}/permissions/{requestId}',
    access: 'driver',
    params: InstanceParams.extend({ requestId: Id }),
    request: PermissionAnswer,
    response: z.object({}),
    errors: [
      'instance_not_found',
      'permission_not_found',
      'permission_stale',
      'permission_option_not_offered',
    ],
  }),
};
