import type { CloseOptions, Host } from './host.ts';

/**
 * Closes the host at the first of these signals and then lets the signal end the process as it would have, so that its
 * exit status tells the truth. A second signal ends the process at once; agents that are kept do not mind. Returns what
 * takes the handlers off again.
 */
export function closeOnSignals(
  host: Host,
  options: CloseOptions = { agents: 'keep' },
  signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'],
): () => void {
  const remove = (): void => {
    for (const signal of signals) process.off(signal, close);
  };
  const close = (signal: NodeJS.Signals): void => {
    remove();
    host.close(options).then(
      () => process.kill(process.pid, signal),
      () => process.kill(process.pid, signal),
    );
  };
  for (const signal of signals) process.on(signal, close);
  return remove;
}
