import { z } from 'zod';
import { Id, PromptGeneration, SequenceNumber, Timestamp } from '../identifiers/id.ts';
import { operation } from './operation.ts';

/** `idle` has no agent; a start that failed leads back to it. */
export const InstanceStatus = z.enum(['idle', 'starting', 'ready', 'running', 'stopping', 'failed']);
export type InstanceStatus = z.infer<typeof InstanceStatus>;

/** One instance as it is enumerated: no environment, no command, no credential (CONTRACT-03). */
export const Instance = z.object({
  instanceId: Id,
  executionId: Id,
  sessionId: Id,
  taskId: Id,
  status: InstanceStatus,
  agentPid: z.int().positive().nullable(),
  workspacePath: z.string(),
  createdAt: Timestamp,
  /** Whether an event stream is established. */
  attached: z.boolean(),
  journal: z.object({
    nextSeq: SequenceNumber,
    unacknowledged: z.int().nonnegative(),
    /** Whether a producer waits for room. */
    paused: z.boolean(),
  }),
  activeTurnId: Id.nullable(),
  retainedOutcomes: z.int().nonnegative(),
  providerSessionId: z.string().nullable(),
});
export type Instance = z.infer<typeof Instance>;

const AbsolutePath = z
  .string()
  .max(4096)
  .refine((path) => path.startsWith('/') && !path.includes('\0'), 'must be an absolute path');

const WorkspaceSourceRoots = z.array(AbsolutePath).max(256);

const Environment = z.record(
  z.string().regex(/^[^=\0]+$/, 'must be a variable name without "=" and NUL'),
  z.string().refine((value) => !value.includes('\0'), 'must not contain NUL'),
);

/** The instance to create. Identities are kept as given (CONTRACT-02); without an `instanceId` the server makes one. */
export const CreateInstance = z.strictObject({
  instanceId: Id.optional(),
  executionId: Id,
  sessionId: Id,
  taskId: Id,
  /** An existing directory on the server's machine; the agent's working directory. */
  workspacePath: AbsolutePath,
  /** The directories that file access is limited to. */
  workspaceSourceRoots: WorkspaceSourceRoots,
  /** The runtime environment: laid over the server's own small base for the agent. */
  environment: Environment,
});
export type CreateInstance = z.infer<typeof CreateInstance>;

/** What a backend needs to rebuild an execution and cannot know otherwise. Holds secrets: never logged or stored. */
export const Reconstruction = z.object({
  /** Null when no provider session was ever opened. */
  providerSessionId: z.string().nullable(),
  workspaceSourceRoots: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  lastPromptGeneration: PromptGeneration,
});
export type Reconstruction = z.infer<typeof Reconstruction>;

export const InstanceParams = z.object({ instanceId: Id });

export const instanceOperations = {
  listInstances: operation({
    summary: 'Enumerates the instances.',
    method: 'GET',
    path: '/instances',
    access: 'driver',
    response: z.object({
      instances: z.array(Instance),
      ownership: z.object({ serverId: Id, rotationId: z.int().positive() }),
    }),
  }),
  createInstance: operation({
    summary: 'Creates an instance, without an agent.',
    method: 'POST',
    path: '/instances',
    access: 'driver',
    request: CreateInstance,
    status: 201,
    response: Instance,
    errors: ['instance_exists', 'shutting_down'],
  }),
  getInstance: operation({
    summary: 'Describes one instance.',
    method: 'GET',
    path: '/instances/{instanceId}',
    access: 'driver',
    params: InstanceParams,
    response: Instance,
    errors: ['instance_not_found'],
  }),
  deleteInstance: operation({
    summary: 'Stops an instance, its agent and all that the agent started; answers when that is done.',
    method: 'DELETE',
    path: '/instances/{instanceId}',
    access: 'driver',
    params: InstanceParams,
    response: z.object({ stopped: z.literal(true) }),
    errors: ['instance_not_found'],
  }),
  getReconstruction: operation({
    summary: 'Reads what an execution is rebuilt from; the answer holds secrets.',
    method: 'GET',
    path: '/instances/{instanceId}/reconstruction',
    access: 'driver',
    params: InstanceParams,
    response: Reconstruction,
    errors: ['instance_not_found'],
    noStore: true,
  }),
  setWorkspaceRoots: operation({
    summary: 'Replaces the source roots: the one explicit rebind.',
    method: 'PUT',
    path: '/instances/{instanceId}/workspace-roots',
    access: 'driver',
    params: InstanceParams,
    request: z.strictObject({ workspaceSourceRoots: WorkspaceSourceRoots }),
    response: z.object({ workspaceSourceRoots: z.array(z.string()) }),
    errors: ['instance_not_found'],
  }),
};
