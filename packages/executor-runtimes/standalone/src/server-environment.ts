/** The variables of the backend's environment that a control server is given, besides all that start with `LC_`. */
export const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'] as const;

/** Where a control server's environment comes from; later ones win. */
export interface EnvironmentSources {
  /** The backend's own; only {@link PASSED_ON} of it goes on, because the rest may hold the backend's secrets. */
  readonly backend: Readonly<Record<string, string | undefined>>;
  readonly added: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

/** The whole environment of a control server (CONTRACT-16). */
export function serverEnvironment({ backend, added, settings }: EnvironmentSources): Record<string, string> {
  const passedOn = Object.entries(backend).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isPassedOn(entry[0]),
  );
  return { ...Object.fromEntries(passedOn), ...added, ...settings };
}

function isPassedOn(name: string): boolean {
  return name.startsWith('LC_') || PASSED_ON.some((passed) => passed === name);
}
