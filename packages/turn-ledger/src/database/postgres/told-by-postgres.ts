import { NotConnectedError } from './not-connected-error.ts';

/** What these say names a schema or a table, and no user and no secret. */
const TOLD_AS_IT_IS: ReadonlySet<string> = new Set([
  '42501', // permission denied for …, must be owner of …
  '3F000', // no schema has been selected to create in
]);

/** What exactly is wrong, fit to be shown; undefined where the reason alone says it. */
export function toldByPostgres(error: unknown): string | undefined {
  if (error instanceof NotConnectedError) return messageOf(error.cause);
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if (TOLD_AS_IT_IS.has(String(error.code))) return messageOf(error);
  const said = messageOf(error);
  if (error.code === '08P01' && said.startsWith('unsupported startup parameter')) {
    return `${said}, which a pooler has to let through, or the url to do without`;
  }
  // Its own words name the user.
  return error.code === '28000' && said.endsWith('no encryption')
    ? 'no rule of its pg_hba.conf admits this connection without TLS, which sslmode=verify-full in the url asks for'
    : undefined;
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
