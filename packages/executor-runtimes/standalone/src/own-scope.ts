/** Which manager of systemd is asked. */
export type Manager = 'system' | 'user';

// systemd-run needs the first two, and sets the third; none of them is meant for the server and its agents.
const OF_THE_MANAGER = ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS', 'INVOCATION_ID'] as const;

/** The environment with which a manager is reached, laid over that of the server. */
export function managerEnvironment(facts: {
  readonly manager: Manager;
  readonly server: Readonly<Record<string, string>>;
  readonly backend: Readonly<Record<string, string | undefined>>;
  readonly userId: number | null;
}): Record<string, string> {
  if (facts.manager === 'system') return { ...facts.server };
  const { XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = facts.backend;
  return {
    ...facts.server,
    // A service of the system that runs as a user is not told where the manager of that user is; it is always here.
    XDG_RUNTIME_DIR: XDG_RUNTIME_DIR ?? `/run/user/${String(facts.userId)}`,
    ...(DBUS_SESSION_BUS_ADDRESS === undefined ? {} : { DBUS_SESSION_BUS_ADDRESS }),
  };
}

/**
 * The command that runs another one in a scope of its own. systemd-run asks for the scope and then becomes the command: process
 * id, session, pipes and working directory stay as they were started.
 */
export function inOwnScope(facts: {
  readonly manager: Manager;
  /** Names the scope for people; without the suffix. */
  readonly name: string;
  readonly command: readonly string[];
  /** The whole environment that the command is to have. */
  readonly environment: Readonly<Record<string, string>>;
}): readonly string[] {
  const surplus = OF_THE_MANAGER.filter((name) => facts.environment[name] === undefined);
  return [
    'systemd-run',
    `--${facts.manager}`,
    '--scope',
    '--quiet',
    '--collect',
    `--unit=${facts.name}`,
    '--description=Holdfast control server',
    '--',
    ...(surplus.length === 0 ? [] : ['/usr/bin/env', ...surplus.map((name) => `--unset=${name}`)]),
    ...facts.command,
  ];
}
