import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  ControlError,
  OPERATIONS,
  invalidRequest,
  requestIssues,
  type Operation,
  type OperationName,
} from '@holdfast/control-protocol';
import { errorFacts } from '../diagnostics/log.ts';
import type { Clock } from '../ports/clock.ts';
import { errorAnswer, sendAnswer, type Answer } from './answer.ts';
import { ConnectionCutError } from './connection-cut-error.ts';
import type { Handlers, ServerParts } from './handler.ts';
import { agentHandlers } from './handlers/agent-handlers.ts';
import { fileHandlers } from './handlers/file-handlers.ts';
import { instanceHandlers } from './handlers/instance-handlers.ts';
import { metricsHandlers } from './handlers/metrics-handlers.ts';
import { ownershipHandlers } from './handlers/ownership-handlers.ts';
import { sessionHandlers } from './handlers/session-handlers.ts';
import { bearerOf, checkOrigin } from './origin-gate.ts';
import { parseBody, readBody } from './read-body.ts';
import { EVENTS_ROUTE, matchRoute, parsePlaces, parseQuery } from './routes.ts';

/** One handler for each row of the operation table: a row without one does not compile. */
const HANDLERS: Handlers<OperationName> = {
  ...ownershipHandlers,
  ...instanceHandlers,
  ...agentHandlers,
  ...sessionHandlers,
  ...fileHandlers,
  ...metricsHandlers,
};

/** What every request goes through. */
export interface DispatchOptions {
  readonly parts: ServerParts;
  readonly clock: Clock;
  readonly hosts: () => ReadonlySet<string>;
}

/** Answers one HTTP request. Never rejects. */
export async function dispatch(
  request: IncomingMessage,
  response: ServerResponse,
  options: DispatchOptions,
): Promise<void> {
  const { parts, clock } = options;
  let operation = 'none';
  let answer: Answer;
  try {
    const called = recognise(request, options.hosts());
    operation = called.name;
    answer = await carryOut(request, called, parts);
  } catch (error) {
    if (error instanceof ConnectionCutError) {
      response.destroy();
      return;
    }
    answer = errorAnswer(controlErrorOf(error, parts, `${String(request.method)} request`));
  }
  parts.requests.add(operation, answer.status);
  await sendAnswer(request, response, answer, clock);
}

/** The error to answer; what is none of the protocol's is logged, and nothing of it is told. */
export function controlErrorOf(
  error: unknown,
  { log }: Pick<ServerParts, 'log'>,
  what: string,
): ControlError {
  if (error instanceof ControlError) return error;
  log.error({ ...errorFacts(error), what }, 'a request failed inside the server');
  return new ControlError('internal', 'The server failed to carry this out; its log says more.');
}

/** An operation that is called, nothing of it checked but where the call comes from. */
interface Called {
  readonly name: OperationName;
  readonly places: Readonly<Record<string, string>>;
  readonly search: string;
}

function recognise(request: IncomingMessage, hosts: ReadonlySet<string>): Called {
  checkOrigin(request.headers, hosts);
  const { pathname, search } = splitTarget(request.url ?? '/');
  const { name, places } = matchRoute(request.method ?? 'GET', pathname);
  if (name === EVENTS_ROUTE) {
    throw new ControlError('route_not_found', 'The event stream is a WebSocket: send an upgrade request.');
  }
  return { name, places, search };
}

async function carryOut(
  request: IncomingMessage,
  { name, places, search }: Called,
  parts: ServerParts,
): Promise<Answer> {
  const operation: Operation = OPERATIONS[name];
  const credential = bearerOf(request.headers);
  parts.ownership.authorize(operation.access, credential);
  const params = parsePlaces(operation.params, places);
  const query = parseQuery(operation.query, search);
  const text = await readBody(request, operation.maxBodyBytes);
  // The body may have taken its time, and an adoption may have come meanwhile.
  parts.ownership.authorize(operation.access, credential);
  const body = operation.request.safeParse(parseBody(text));
  if (!body.success) throw invalidRequest('request body', requestIssues(body.error));

  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- handler and schemas are of the same row
  const handler = HANDLERS[name] as unknown as (parts: ServerParts, call: unknown) => unknown;
  const work = async (): Promise<unknown> =>
    await handler(parts, { params, query, body: body.data, credential: credential ?? '' });
  const { instanceId } = params;
  const result =
    typeof instanceId === 'string' ? await parts.instances.get(instanceId).during(work) : await work();
  return { status: operation.status, body: result, answers: operation.answers, noStore: operation.noStore };
}

/** Path and query of a request target; what comes after a `?` is kept as it is. */
export function splitTarget(target: string): { readonly pathname: string; readonly search: string } {
  const mark = target.indexOf('?');
  return mark < 0
    ? { pathname: target, search: '' }
    : { pathname: target.slice(0, mark), search: target.slice(mark + 1) };
}
