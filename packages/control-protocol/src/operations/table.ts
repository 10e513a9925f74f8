import type { z } from 'zod';
import { agentOperations } from './agent.ts';
import { fileOperations } from './files.ts';
import { identityOperations } from './identity.ts';
import { instanceOperations } from './instances.ts';
import { metricsOperations } from './metrics.ts';
import type { Operation } from './operation.ts';
import { ownershipOperations } from './ownership.ts';
import { permissionOperations } from './permissions.ts';
import { sessionOperations } from './session.ts';
import { turnOperations } from './turns.ts';

/** Every HTTP operation of the protocol. The event stream is apart: see {@link EVENTS_PATH}. */
export const OPERATIONS = {
  ...identityOperations,
  ...ownershipOperations,
  ...instanceOperations,
  ...agentOperations,
  ...sessionOperations,
  ...turnOperations,
  ...permissionOperations,
  ...fileOperations,
  ...metricsOperations,
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof OPERATIONS;

/** The path parameters of an operation, checked. */
export type ParamsOf<Name extends OperationName> = z.output<(typeof OPERATIONS)[Name]['params']>;

/** The query parameters of an operation, checked. */
export type QueryOf<Name extends OperationName> = z.output<(typeof OPERATIONS)[Name]['query']>;

/** The body of an operation's request, checked. */
export type RequestOf<Name extends OperationName> = z.output<(typeof OPERATIONS)[Name]['request']>;

/** The body of an operation's answer. */
export type ResponseOf<Name extends OperationName> = z.output<(typeof OPERATIONS)[Name]['response']>;

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

/** The event stream of an instance: a WebSocket, `driver` only, with `?after=` the last stored sequence number. */
export const EVENTS_PATH = '/instances/{instanceId}/events';
