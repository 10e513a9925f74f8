import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BackendMessage } from './messages.ts';

/** A backend of the demo in a process group of its own. */
export interface BackendProcess {
  readonly pid: number;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<string>;
  /** SIGKILL to the backend and everything in its process group; false when it had ended before. */
  kill(): boolean;
}

/** Starts a backend; `onMessage` hears what it tells. What it writes to stderr comes out on ours. */
export function startBackend(
  role: 'first' | 'second' | 'last',
  scenarioFile: string,
  onMessage: (message: BackendMessage) => void,
): BackendProcess {
  const program = fileURLToPath(new URL('backend.ts', import.meta.url));
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', program, role, scenarioFile], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`the backend could not be started: ${process.execPath}`);
  createInterface({ input: child.stdout }).on('line', (line) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end of this pipe is our own program
    onMessage(JSON.parse(line) as BackendMessage);
  });
  return {
    pid,
    ended: new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve(signal ?? String(code));
      });
    }),
    kill: () => {
      if (child.exitCode !== null || child.signalCode !== null) return false;
      process.kill(-pid, 'SIGKILL');
      return true;
    },
  };
}
