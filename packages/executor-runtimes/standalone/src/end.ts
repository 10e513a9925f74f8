import type { ChildProcess } from 'node:child_process';

const GRACE_MS = 10_000;

/** Ends a process that this one has started, with its whole group: first asked, then killed. Resolves when it has ended. */
export async function endChild(child: ChildProcess): Promise<void> {
  const { pid } = child;
  // Without a pid it never ran.
  if (pid === undefined || hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  child.ref();
  signalGroup(pid, 'SIGTERM');
  const timer = setTimeout(() => {
    if (!hasEnded(child)) signalGroup(pid, 'SIGKILL');
  }, GRACE_MS);
  await ended;
  clearTimeout(timer);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function signalGroup(groupId: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-groupId, signal);
  } catch {
    // It ended by itself meanwhile.
  }
}
