/** How npm weighs what it has cached against the registry: the one thing that differs between a first start and its retry. */
export const NPM_PREFERENCES = ['--prefer-offline', '--prefer-online'] as const;
export type NpmPreference = (typeof NPM_PREFERENCES)[number];

/** The command that runs one exact package as an agent. */
export function npmRuntimeCommand(
  packageSpec: string,
  agentArgs: readonly string[],
  preference: NpmPreference,
): string[] {
  return ['npx', '--yes', preference, packageSpec, ...agentArgs];
}

/** The preference with which a command is the one of {@link npmRuntimeCommand} for this package; undefined for any other command. */
export function npmPreferenceOf(command: readonly string[], packageSpec: string): NpmPreference | undefined {
  const agentArgs = command.slice(4);
  return NPM_PREFERENCES.find((preference) => {
    const expected = npmRuntimeCommand(packageSpec, agentArgs, preference);
    return expected.length === command.length && expected.every((part, index) => part === command[index]);
  });
}
