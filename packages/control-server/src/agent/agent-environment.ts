const PASSED_ON = new Set(['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR', 'TERM']);

/** By these two an agent, and whatever it started, is recognised as part of an instance of a server. */
export const INSTANCE_MARK = 'HOLDFAST_INSTANCE_ID';
export const SERVER_MARK = 'HOLDFAST_SERVER_ID';
/** How the name of every mark begins. */
export const MARK_PREFIX = 'HOLDFAST_';

/** The part of the server's own environment that its agents may see: where things are and in which language to speak. */
export function baseEnvironment(own: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (PASSED_ON.has(name) || name.startsWith('LC_'))) passed[name] = value;
  }
  return passed;
}

/** The whole environment of an agent: the base, the instance's own over it, the marks over both. */
export function agentEnvironment(facts: {
  readonly base: Readonly<Record<string, string>>;
  readonly own: Readonly<Record<string, string>>;
  readonly serverId: string;
  readonly instanceId: string;
}): Record<string, string> {
  return {
    ...facts.base,
    ...facts.own,
    [INSTANCE_MARK]: facts.instanceId,
    [SERVER_MARK]: facts.serverId,
  };
}
