import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What a machine, or whoever runs the tests, may say to the programs that tests start. Tests compare what programs wrote, and
 * their programs talk to nobody but this machine: they take no certificates, proxies, settings or colours from outside.
 */
const OF_THE_MACHINE: readonly RegExp[] = [
  // Node reads these certificates beside everything else, and a program that exits meanwhile may still say on stderr that they
  // are broken.
  /^NODE_EXTRA_CA_CERTS$/,
  /^NODE_(USE_ENV_PROXY|DEBUG|DEBUG_NATIVE|PENDING_DEPRECATION|TRACE_WARNINGS|TRACE_DEPRECATION)$/,
  // npm and `fetch` would look for this machine behind it.
  /^(HTTP|HTTPS|ALL|NO)_PROXY$/i,
  // npm tells the programs that it runs how it is set up itself.
  /^npm_config_/i,
  // Both together make Node warn.
  /^(FORCE_COLOR|NO_COLOR|CLICOLOR_FORCE)$/,
  /^DEBUG$/,
  // A hook of git runs its programs with the place of its own repository.
  /^GIT_/,
  // Of clients of PostgreSQL.
  /^PG(HOST|HOSTADDR|PORT|DATABASE|USER|PASSWORD|PASSFILE|SERVICE|SERVICEFILE|OPTIONS|APPNAME|SSL[A-Z]+|CONNECT_TIMEOUT|CLIENTENCODING|TZ|DATESTYLE|DATA)$/,
  // The settings of what is tested.
  /^KANDEV_/,
];

/** What every run of tests starts with, before there is a worker. */
export default function prepareRun({ outputFile }: { readonly outputFile?: string }): void {
  // jest does not make the folder of `--outputFile` by itself: every test script writes coverage/results.json.
  if (outputFile !== undefined) mkdirSync(dirname(outputFile), { recursive: true });
  for (const name of Object.keys(process.env)) {
    if (OF_THE_MACHINE.some((pattern) => pattern.test(name))) delete process.env[name];
  }
  // This process may have been told of a proxy when it started; whom it reaches without one, it looks up each time.
  process.env['NO_PROXY'] = '127.0.0.1,localhost,::1';
}
