/** Whether a text is a URL of a PostgreSQL database. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/./i.test(text) && URL.canParse(text);
}

/** The database that a URL names, for a person: `postgres://host:5432/name`, without user, password and parameters. */
export function postgresPlace(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  const where = host === '' ? (searchParams.get('host') ?? '') : host;
  return `postgres://${where}${pathname}`;
}

/** A text that was given as an address, fit to be shown: what a URL may hold of secrets is left out. */
export function withoutSecrets(address: string): string {
  return address.replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)?.*@/is, '$1$2…@').replace(/\?.*$/s, '?…');
}
