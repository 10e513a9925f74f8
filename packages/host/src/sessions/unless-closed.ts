import type { HostServices } from './host-services.ts';

/** A caller's signal, if there is one, or the end of the host, whichever comes first. */
export function unlessClosed(
  { closed }: Pick<HostServices, 'closed'>,
  signal: AbortSignal | undefined,
): AbortSignal {
  return signal === undefined ? closed : AbortSignal.any([closed, signal]);
}
