import { Id } from '@holdfast/control-protocol';

/** What a control server says when it listens. */
export interface ReadyLine {
  readonly serverId: string;
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
}

/** The ready line that a text is, or undefined when it is none. */
export function parseReadyLine(text: string): ReadyLine | undefined {
  const line = parseObject(text);
  const serverId = Id.safeParse(line?.['serverId']).data;
  const endpoint = line?.['endpoint'];
  if (serverId === undefined || typeof endpoint !== 'string') return undefined;
  return URL.parse(endpoint)?.protocol === 'http:' ? { serverId, endpoint } : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    return undefined;
  }
}
