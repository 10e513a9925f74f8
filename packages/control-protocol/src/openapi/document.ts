import { z } from 'zod';
import { ErrorEnvelope } from '../errors/control-error.ts';
import { ERROR_STATUS, type ErrorCode } from '../errors/codes.ts';
import type { JsonObject } from '../identifiers/json-object.ts';
import {
  ANSWER_MEDIA_TYPES,
  BASE_PATH,
  COMMON_ERRORS,
  CREDENTIAL_ERRORS,
  type Operation,
} from '../operations/operation.ts';
import { EVENTS_PATH, OPERATIONS } from '../operations/table.ts';

/** The OpenAPI 3.1 document of the control protocol, derived from the operation table. */
export function openApiDocument(): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries<Operation>(OPERATIONS)) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(name, operation);
  }
  paths[EVENTS_PATH] = { get: describeEventStream() };
  return {
    openapi: '3.1.0',
    info: { title: 'Holdfast control protocol', version: '1' },
    servers: [{ url: BASE_PATH }],
    paths,
    components: {
      securitySchemes: { credential: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: jsonSchema(ErrorEnvelope) },
    },
  };
}

function describe(name: string, operation: Operation): JsonObject {
  const requestSchema =
    operation.request.def.type === 'undefined' ? undefined : jsonSchema(operation.request);
  const responseSchema = operation.response.def.type === 'undefined' ? undefined : answerSchema(operation);
  return {
    operationId: name,
    summary: operation.summary,
    'x-access': operation.access,
    'x-max-body-bytes': operation.maxBodyBytes,
    ...(operation.access === 'open' ? {} : { security: [{ credential: [] }] }),
    ...parameters(operation),
    ...(requestSchema === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: requestSchema } } } }),
    responses: {
      [String(operation.status)]: {
        description: 'done',
        ...(responseSchema === undefined
          ? {}
          : { content: { [ANSWER_MEDIA_TYPES[operation.answers]]: { schema: responseSchema } } }),
      },
      ...errorResponses([
        ...COMMON_ERRORS,
        ...(operation.access === 'open' ? [] : CREDENTIAL_ERRORS),
        ...operation.errors,
      ]),
    },
  };
}

function describeEventStream(): JsonObject {
  return {
    operationId: 'openEvents',
    summary: 'The event stream of an instance, a WebSocket.',
    'x-access': 'driver',
    security: [{ credential: [] }],
    parameters: [
      { name: 'instanceId', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'after', in: 'query', required: true, schema: { type: 'integer', minimum: 0 } },
    ],
    responses: {
      '101': { description: 'attached' },
      ...errorResponses([...COMMON_ERRORS, ...CREDENTIAL_ERRORS, 'instance_not_found', 'shutting_down']),
    },
  };
}

function parameters({ params, query }: Pick<Operation, 'params' | 'query'>): JsonObject {
  const inPath = Object.entries<z.core.$ZodType>(params.shape).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchema(schema),
  }));
  const inQuery = Object.entries<z.core.$ZodType>(query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !z.safeParse(schema, undefined).success,
    // As text it is what the number is as JSON.
    schema: jsonSchema(schema, 'output'),
  }));
  const all = [...inPath, ...inQuery];
  return all.length === 0 ? {} : { parameters: all };
}

function answerSchema({ answers, response }: Operation): unknown {
  return answers === 'bytes' ? { type: 'string', format: 'binary' } : jsonSchema(response);
}

function errorResponses(codes: readonly ErrorCode[]): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      String(status),
      {
        description: names.join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

function jsonSchema(schema: z.core.$ZodType, io: 'input' | 'output' = 'input'): unknown {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
