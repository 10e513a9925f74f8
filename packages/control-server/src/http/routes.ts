import {
  BASE_PATH,
  ControlError,
  EVENTS_PATH,
  OPERATIONS,
  invalidRequest,
  isOperationName,
  requestIssues,
  type OperationName,
} from '@holdfast/control-protocol';
import type { z } from 'zod';

/** A path that was recognised; the values of its places are not checked yet. */
export interface RouteMatch<Name> {
  readonly name: Name;
  readonly places: Readonly<Record<string, string>>;
}

interface Route<Name> {
  readonly name: Name;
  readonly method: string;
  readonly segments: readonly string[];
}

/** The event stream has no row in the operation table, so it has a name of its own here. */
export const EVENTS_ROUTE = 'events';

const ROUTES: ReadonlyArray<Route<OperationName | typeof EVENTS_ROUTE>> = [
  ...Object.keys(OPERATIONS)
    .filter(isOperationName)
    .map((name) => ({
      name,
      method: OPERATIONS[name].method,
      segments: segmentsOf(BASE_PATH + OPERATIONS[name].path),
    })),
  { name: EVENTS_ROUTE, method: 'GET', segments: segmentsOf(BASE_PATH + EVENTS_PATH) },
];

/** The route of a request, or the `ControlError` that says there is none. */
export function matchRoute(
  method: string,
  pathname: string,
): RouteMatch<OperationName | typeof EVENTS_ROUTE> {
  const segments = segmentsOf(pathname);
  for (const route of ROUTES) {
    const places = route.method === method ? fit(route.segments, segments) : undefined;
    if (places !== undefined) return { name: route.name, places };
  }
  throw new ControlError(
    'route_not_found',
    'There is no such operation; see the operation table of protocol version 1.',
  );
}

/** The checked query parameters; one that is unknown, repeated or out of range is an `invalid_request`. */
export function parseQuery<Schema extends z.ZodObject>(schema: Schema, search: string): z.output<Schema> {
  const given = new URLSearchParams(search);
  const repeated = [...new Set(given.keys())].filter((name) => given.getAll(name).length > 1);
  if (repeated.length > 0) {
    throw invalidRequest(
      'query',
      repeated.map((name) => ({ path: [name], message: 'must be given once' })),
    );
  }
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (!parsed.success) throw invalidRequest('query', requestIssues(parsed.error));
  return parsed.data;
}

/** The checked values of a path's places; an id that is none is an `invalid_request`. */
export function parsePlaces<Schema extends z.ZodObject>(
  schema: Schema,
  places: Readonly<Record<string, string>>,
): z.output<Schema> {
  const decoded: Record<string, string> = {};
  for (const [name, raw] of Object.entries(places)) decoded[name] = decode(raw);
  const parsed = schema.safeParse(decoded);
  if (!parsed.success) throw invalidRequest('path', requestIssues(parsed.error));
  return parsed.data;
}

function fit(template: readonly string[], actual: readonly string[]): Record<string, string> | undefined {
  if (template.length !== actual.length) return undefined;
  const places: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const given = actual[index] ?? '';
    const place = /^\{(\w+)\}$/.exec(part)?.[1];
    if (place !== undefined) places[place] = given;
    else if (part !== given) return undefined;
  }
  return places;
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

// What cannot be decoded is no id, and is refused as such.
function decode(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
