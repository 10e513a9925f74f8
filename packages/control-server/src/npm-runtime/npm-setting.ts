/** The npm setting that a variable of the environment is, by npm's own rule; undefined for one that is none, or is empty. */
export function npmSetting(name: string, value: string): string | undefined {
  const key = /^npm_config_(.+)$/i.exec(name)?.[1];
  if (key === undefined || value === '') return undefined;
  return key.replaceAll(/(?!^)_/g, '-').toLowerCase();
}
