import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
const START_MS = 120_000;
// A connection that is accepted in the middle of a shutdown may hold that up for its minute of authentication.
const STOP_MS = 120_000;
const TRIES = 3;
const LONGEST_SOCKET_PATH = 107;

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
  const place = { folder, socketFolder: await socketFolderOf(folder, user), user };
  await initialise(found.programs, place);
  const first = await start(found.programs, place);
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
    socketFolder: place.socketFolder,
    async crash() {
      await end('SIGQUIT'); // its "immediate" shutdown: the processes are gone when it ends
    },
    async restart() {
      ({ program } = await start(found.programs, place, port));
    },
    async [Symbol.asyncDispose]() {
      await end('SIGINT'); // its "fast" shutdown
      for (const own of [folder, place.socketFolder]) await rm(own, { recursive: true, force: true });
    },
  };
}

/** Where a server keeps its files, and who runs it. */
interface Place {
  readonly folder: string;
  readonly socketFolder: string;
  readonly user: UnprivilegedUser | undefined;
}

/** The folder itself, unless the path of a socket there would be too long: some machines keep temporary files far down. */
async function socketFolderOf(folder: string, user: UnprivilegedUser | undefined): Promise<string> {
  if (Buffer.byteLength(`${folder}/.s.PGSQL.65535`) <= LONGEST_SOCKET_PATH) return folder;
  const other = await mkdtemp('/tmp/holdfast-postgres-');
  if (user !== undefined) await chown(other, user.uid, user.gid);
  return other;
}

async function initialise({ initdb }: PostgresPrograms, { folder, user }: Place): Promise<void> {
  const passwordFile = `${folder}/password`;
  await writeFile(passwordFile, PASSWORD);
  // Under a strict umask it would be for this user alone.
  if (user !== undefined) await chown(passwordFile, user.uid, user.gid);
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
  place: Place,
  portBefore?: number,
): Promise<{ readonly port: number; readonly program: StartedProgram }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = portBefore ?? (await freePort());
    const program = await startProgram(
      [...(place.user?.prefix ?? []), ...serverCommand(programs, place, port)],
      {
        cwd: place.folder,
        env: { LC_ALL: 'C' },
      },
    );
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

function serverCommand(
  { postgres }: PostgresPrograms,
  { folder, socketFolder }: Place,
  port: number,
): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: socketFolder,
    max_connections: '50',
    shared_buffers: '16MB',
    // In the cluster's folder, where it goes with it: a server that is killed leaves it in the system's memory for good.
    dynamic_shared_memory_type: 'mmap',
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
