import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/** What a runtime asks about the processes of this machine. */
export interface LocalProcesses {
  /**
   * When the process started, and in which life of the machine: opaque. `ended` when no process has that pid, a zombie counts as
   * ended; `unknown` when there is one and no more can be told.
   */
  startTime(pid: number): Promise<{ readonly startTime: string } | 'ended' | 'unknown'>;
  /**
   * The pids of processes that were started with this variable in their environment; null where that cannot be seen. Those of
   * other users are not seen.
   */
  startedWith(name: string, value: string): Promise<readonly number[] | null>;
}

/** The processes of this machine: from `/proc` on Linux, from `ps` elsewhere. */
export function localProcesses(platform: NodeJS.Platform): LocalProcesses {
  return platform === 'linux'
    ? { startTime: startTimeInProc, startedWith: startedWithInProc }
    : { startTime: startTimeFromPs, startedWith: async () => await Promise.resolve(null) };
}

async function startTimeInProc(pid: number): Promise<{ readonly startTime: string } | 'ended' | 'unknown'> {
  let stat: string;
  let bootId: string;
  try {
    stat = await readFile(`/proc/${String(pid)}/stat`, 'utf8');
    // Start times count from the boot of the machine, so that they come again after the next.
    bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    return existence(pid);
  }
  // The name stands in parentheses and may hold anything, so count from its end. Field numbers as in proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields[3 - 3], fields[22 - 3]];
  if (state === 'Z' || state === 'X') return 'ended';
  return ticks === undefined ? 'unknown' : { startTime: `${bootId} ${ticks}` };
}

async function startedWithInProc(name: string, value: string): Promise<readonly number[]> {
  const entries = await readdir('/proc');
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Another user's, or ended meanwhile.
      const environment = await readFile(`/proc/${String(pid)}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(`${name}=${value}`) ? [pid] : [];
    }),
  );
  return found.flat();
}

async function startTimeFromPs(pid: number): Promise<{ readonly startTime: string } | 'ended' | 'unknown'> {
  const line = await new Promise<string>((resolve) => {
    // The locale decides how a time is written.
    const options = { env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' }, timeout: PS_LIMIT_MS } as const;
    execFile('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options, (error, stdout) => {
      resolve(error === null ? stdout : '');
    });
  });
  const [, state = '', startTime = ''] = /^\s*(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
  if (state.startsWith('Z')) return 'ended';
  return startTime === '' ? existence(pid) : { startTime };
}

const PS_LIMIT_MS = 5000;

/** Where nothing tells more: whether there is a process of that pid at all. */
function existence(pid: number): 'ended' | 'unknown' {
  try {
    process.kill(pid, 0);
    return 'unknown';
  } catch (error) {
    return codeOf(error) === 'ESRCH' ? 'ended' : 'unknown';
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
