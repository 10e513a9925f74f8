import { ControlError } from '@holdfast/control-protocol';
import { NoAnswerError } from '@holdfast/control-protocol/client';
import type { Dialled } from '@holdfast/executor-contract';
import { nobodyListens } from './nobody-listens.ts';

/** How a server that is driven tells of its end: by its absence, or in its own words. */
export type ServerEnd = 'no_answer' | 'shutting_down';

/**
 * The end of the server that an error of a call tells of, or undefined when it tells of none. Silence is none, and neither is a
 * tunnel that breaks: its server may live.
 */
export function endIn(route: Dialled['route'], error: unknown): ServerEnd | undefined {
  if (error instanceof ControlError) return error.code === 'shutting_down' ? 'shutting_down' : undefined;
  const isGone = error instanceof NoAnswerError && route === 'direct' && nobodyListens(route, error);
  return isGone ? 'no_answer' : undefined;
}
