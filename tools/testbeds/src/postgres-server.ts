import { chmod, chown, rm, writeFile } from 'node:fs/promises';
import { freePort } from './free-port.ts';
import { findPostgres, type PostgresPrograms } from './postgres-programs.ts';
import { waitForExit } from './processes.ts';
import { runProgram } from './run-program.ts';
import { startProgram, type StartedProgram } from './started-program.ts';
import type { TestHome } from './test-home.ts';
import { unprivilegedUser, type UnprivilegedUser } from './unprivileged.ts';

/** A PostgreSQL server with a cluster of its own. Disposing it stops it and removes the cluster. */
export interface PostgresServer extends AsyncDisposable {
  /** Over loopback, with user and password; the user may do everything. */
  readonly url: string;
  /** As it stands in {@link PostgresServer.url}. */
  readonly password: string;
  readonly port: number;
  /** Where its Unix socket is; connections there need no password. */
  readonly socketFolder: string;
  /** Ends it at once, as a crash would: clients see their connections break. */
  crash(): Promise<void>;
  /** Starts it again after a crash, with what it had stored, at the same address. */
  restart(): Promise<void>;
}

const USER = 'holdfast';
const PASSWORD = 'a-password-of-the-tests';
const START_MS = 60_000;
const STOP_MS = 30_000;
const TRIES = 3;

/**
 * Starts a PostgreSQL server in the test's home, on a free port of 127.0.0.1 and a Unix socket. Throws when its programs are
 * not on this machine; `requirement('postgres')` tells beforehand. PostgreSQL refuses to run as root, so root runs it as the
 * user `postgres` or `nobody`.
 */
export async function postgresServer(home: TestHome): Promise<PostgresServer> {
  const found = findPostgres(process.env['PATH'] ?? '');
  if (found.kind === 'missing') throw new Error(`PostgreSQL cannot be started: ${found.missing}.`);
  const user = unprivilegedUser('postgres', 'nobody');
  const folder = await home.folder('postgres');
  if (user !== undefined) {
    await chmod(home.root, 0o711); // that user has to get through it
    await chown(folder, user.uid, user.gid);
  }
  await initialise(found.programs, folder, user);
  const first = await start(found.programs, folder, user);
  const { port } = first;
  let { program } = first;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    program.kill(signal);
    try {
      await waitForExit(program.pid, { withinMs: STOP_MS, reason: `PostgreSQL to stop after ${signal}` });
    } finally {
      await program[Symbol.asyncDispose]();
    }
  };
  return {
    url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${String(port)}/postgres`,
    password: PASSWORD,
    port,
    socketFolder: folder,
    async crash() {
      await end('SIGQUIT'); // its "immediate" shutdown: the processes are gone when it ends
    },
    async restart() {
      ({ program } = await start(found.programs, folder, user, port));
    },
    async [Symbol.asyncDispose]() {
      await end('SIGINT'); // its "fast" shutdown
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function initialise(
  { initdb }: PostgresPrograms,
  folder: string,
  user: UnprivilegedUser | undefined,
): Promise<void> {
  const passwordFile = `${folder}/password`;
  await writeFile(passwordFile, PASSWORD);
  const command = [
    ...(user?.prefix ?? []),
    initdb,
    `--pgdata=${folder}/data`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth-local=trust',
    '--auth-host=scram-sha-256',
    '--encoding=UTF8',
    '--no-locale',
    '--no-sync',
  ];
  const { exitCode, stderr } = await runProgram(command, { cwd: folder, timeoutMs: START_MS });
  if (exitCode !== 0) throw new Error(`initdb failed with code ${String(exitCode)}:\n${stderr}`);
}

async function start(
  programs: PostgresPrograms,
  folder: string,
  user: UnprivilegedUser | undefined,
  portBefore?: number,
): Promise<{ readonly port: number; readonly program: StartedProgram }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = portBefore ?? (await freePort());
    const program = await startProgram([...(user?.prefix ?? []), ...serverCommand(programs, folder, port)], {
      cwd: folder,
      env: { LC_ALL: 'C' },
    });
    try {
      await program.nextLine('database system is ready to accept connections', {
        withinMs: START_MS,
        from: 'stderr',
      });
      return { port, program };
    } catch (error) {
      await program[Symbol.asyncDispose]();
      // Somebody else may have taken the port meanwhile.
      if (attempt === TRIES || !program.lines('stderr').some((line) => line.includes('in use'))) throw error;
    }
  }
}

function serverCommand({ postgres }: PostgresPrograms, folder: string, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: folder,
    max_connections: '50',
    shared_buffers: '16MB',
    // The cluster ends with the test.
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    log_checkpoints: 'off',
  };
  return [
    postgres,
    '-D',
    `${folder}/data`,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}
