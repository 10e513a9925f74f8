import type { NoAnswerError } from '@holdfast/control-protocol/client';
import type { Dialled } from '@holdfast/executor-contract';

// A tunnel takes the connection itself, and resets it when nobody is at its far end.
const SIGN: Readonly<Record<Dialled['route'], string>> = { direct: 'ECONNREFUSED', tunnel: 'ECONNRESET' };

/**
 * Whether a call got no answer because no process is there, as far as the route can tell. Silence is something else: a process
 * that hangs may still have agents.
 */
export function nobodyListens(route: Dialled['route'], { systemCode }: NoAnswerError): boolean {
  return systemCode === SIGN[route];
}
