import { parseArgs } from 'node:util';

/** What the command was told. */
export interface CommandArguments {
  readonly home: string;
  readonly listenHost: string | undefined;
  readonly port: number;
  readonly logFile: string | undefined;
  readonly lifetime: 'detached' | 'bound';
  readonly bootstrap: { readonly kind: 'stdin' } | { readonly kind: 'file'; readonly path: string };
}

/** Arguments that are not accepted; the message says which, the value, and what is accepted. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
  readonly code = 'argument_not_accepted';
}

export const USAGE = `Usage: holdfast-control-server --home DIR [options]

Runs a Holdfast control server: the process that owns coding agents and outlives the backend that started them.

  --home DIR              the installation's home directory; created when it is missing
  --listen-host HOST      where to listen (127.0.0.1)
  --port PORT             0 takes a free port (0)
  --log-file FILE         the log (DIR/logs/control-server.log)
  --lifetime LIFETIME     detached: outlives its parent; bound: ends when its stdin closes (detached)
  --bootstrap SOURCE      where the bootstrap nonce comes from, one line {"nonce": "..."}:
                          stdin, or file:PATH (stdin)
  --help, --version

Settings come from KANDEV_ACP_UNOWNED_PERIOD, KANDEV_ACP_DETACHED_EVENT_LIMIT and KANDEV_ACP_IDLE_TIMEOUT.
When it listens it prints one line, {"serverId", "endpoint", "pid"}.
Exit codes: 0 asked to stop, 2 arguments, settings or home not accepted, 3 cannot listen, 4 had no owner,
5 cannot write its log file, 70 internal error.
`;

/** Reads the arguments; throws {@link ArgumentError}. */
export function readArguments(
  args: readonly string[],
): CommandArguments | { readonly show: 'help' | 'version' } {
  const values = parse(args);
  if (values.help === true) return { show: 'help' };
  if (values.version === true) return { show: 'version' };
  if (values.home === undefined || values.home === '') throw new ArgumentError('--home DIR is required.');
  return {
    home: values.home,
    listenHost: values['listen-host'],
    port: readPort(values.port ?? '0'),
    logFile: values['log-file'],
    lifetime: readLifetime(values.lifetime ?? 'detached'),
    bootstrap: readBootstrap(values.bootstrap ?? 'stdin'),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        home: { type: 'string' },
        'listen-host': { type: 'string' },
        port: { type: 'string' },
        'log-file': { type: 'string' },
        lifetime: { type: 'string' },
        bootstrap: { type: 'string' },
        help: { type: 'boolean' },
        version: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? error.message : 'The arguments cannot be read.');
  }
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new ArgumentError(`--port ${text} is not accepted; it must be a whole number from 0 to 65535.`);
}

function readLifetime(text: string): CommandArguments['lifetime'] {
  if (text === 'detached' || text === 'bound') return text;
  throw new ArgumentError(`--lifetime ${text} is not accepted; it must be detached or bound.`);
}

function readBootstrap(text: string): CommandArguments['bootstrap'] {
  if (text === 'stdin') return { kind: 'stdin' };
  const path = /^file:(.+)$/.exec(text)?.[1];
  if (path !== undefined) return { kind: 'file', path };
  throw new ArgumentError(`--bootstrap ${text} is not accepted; it must be stdin or file:PATH.`);
}
