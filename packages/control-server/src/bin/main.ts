import { SETTINGS, SettingError, resolveSettings } from '@holdfast/control-protocol';
import { errorFacts } from '../diagnostics/log.ts';
import { CannotListenError } from '../http/cannot-listen-error.ts';
import { systemClock, type Clock } from '../ports/clock.ts';
import { CannotLogError, startControlServer, type ControlServer } from '../server/control-server.ts';
import { EXIT_CODES } from '../server/exit-codes.ts';
import { HomeNotUsableError, type ControlServerOptions } from '../server/options.ts';
import { packageVersion } from '../server/package-root.ts';
import { ArgumentError, USAGE, readArguments, type CommandArguments } from './arguments.ts';
import { readNonce } from './bootstrap-nonce.ts';
import { closeInheritedDescriptors } from './inherited-descriptors.ts';
import { letGoOfStandardStreams, writeTo } from './standard-streams.ts';

/** What the process was started with. */
export interface CommandInput {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Parts of the server to replace, for programs that are the command but for these: tests. */
  readonly replaced?: Pick<ControlServerOptions, 'clock' | 'capabilities' | 'onOwnershipStep'>;
}

// After a bug the agents are still to be stopped, but the process must end.
const LAST_STOP_MS = 15_000;

/** Runs the command to its end; resolves with the exit code. */
export async function runCommand(input: CommandInput): Promise<number> {
  try {
    const args = readArguments(input.args);
    if ('show' in args) {
      writeTo(1, args.show === 'help' ? USAGE : `${packageVersion()}\n`);
      return EXIT_CODES.stopped;
    }
    return await runServer(args, input);
  } catch (error) {
    writeTo(2, `holdfast-control-server: ${error instanceof Error ? error.message : 'failed'}\n`);
    return exitCodeOf(error);
  }
}

async function runServer(
  args: CommandArguments,
  { environment, replaced = {} }: CommandInput,
): Promise<number> {
  if (args.lifetime === 'detached') closeInheritedDescriptors();
  const settings = resolveSettings({ environment: serverSettingsOf(environment) });
  const nonce = readNonce(args.bootstrap);
  const { home, listenHost, port, logFile, lifetime } = args;
  const server = await startControlServer({
    home,
    port,
    nonce,
    settings,
    environment,
    ...replaced,
    ...(listenHost === undefined ? {} : { listenHost }),
    ...(logFile === undefined ? {} : { logFile }),
  });
  const crash = watchForCrash(server, replaced.clock ?? systemClock());
  const { serverId, endpoint } = server;
  // From here on the parent may be gone at any time.
  if (lifetime === 'detached') outliveParent(server);
  writeTo(1, `${JSON.stringify({ serverId, endpoint, pid: process.pid })}\n`);
  if (lifetime === 'detached') letGoOfStandardStreams();
  else endWithParent(server);

  const end = await server.ended;
  if (crash.happened) return EXIT_CODES.internal;
  return end.why === 'unowned' ? EXIT_CODES.unowned : EXIT_CODES.stopped;
}

/** Only the server's own settings: one of the backend's that is out of range is not for this process to judge. */
function serverSettingsOf(
  environment: CommandInput['environment'],
): Readonly<Record<string, string | undefined>> {
  const own = Object.values(SETTINGS)
    .filter(({ reader }) => reader === 'control-server')
    .map((row) => row.environment);
  return Object.fromEntries(own.map((name) => [name, environment[name]]));
}

function outliveParent(server: ControlServer): void {
  process.on('SIGHUP', () => {
    server.log.info({}, 'SIGHUP was ignored: the server outlives its terminal');
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) stopOn(signal, server);
}

/** The parent holds the other end of stdin; when that goes, so does the server. */
function endWithParent(server: ControlServer): void {
  // An interrupt in a terminal reaches parent and server alike: the parent decides what becomes of it.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) stopOn(signal, server);
  const stop = (): void => {
    void server.stop();
  };
  process.stdin.once('end', stop).once('close', stop).once('error', stop).resume();
}

function stopOn(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', server: ControlServer): void {
  process.on(signal, () => {
    server.log.info({ signal }, 'the server was told to stop by a signal');
    void server.stop();
  });
}

/** On a bug: the agents are stopped as well as that goes, and the process ends whether it went well or not. */
function watchForCrash(server: ControlServer, clock: Clock): { readonly happened: boolean } {
  const crash = { happened: false };
  const onError = (error: unknown): void => {
    server.log.error(errorFacts(error), 'the server failed and ends');
    if (crash.happened) return;
    crash.happened = true;
    clock.setTimer(LAST_STOP_MS, () => process.exit(EXIT_CODES.internal));
    void server.stop();
  };
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  return crash;
}

function exitCodeOf(error: unknown): number {
  if (
    error instanceof ArgumentError ||
    error instanceof SettingError ||
    error instanceof HomeNotUsableError
  ) {
    return EXIT_CODES.notAccepted;
  }
  if (error instanceof CannotListenError) return EXIT_CODES.cannotListen;
  if (error instanceof CannotLogError) return EXIT_CODES.cannotLog;
  return EXIT_CODES.internal;
}
