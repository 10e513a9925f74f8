import type { Log } from '../diagnostics/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { InstanceTable } from './instance-table.ts';

const SCAN_EVERY_MS = 60_000;

/** Stops instances that nobody uses, looking once a minute. The answer ends it. A timeout of 0 looks for nothing. */
export function startIdleReaper(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly instances: InstanceTable;
  readonly idleTimeoutMs: number;
}): () => void {
  const { clock, log, instances, idleTimeoutMs } = options;
  if (idleTimeoutMs === 0) return () => undefined;
  const scan = (): void => {
    for (const instance of instances.list()) {
      if (instance.isStopping || !instance.isIdle(idleTimeoutMs)) continue;
      log.info({ instanceId: instance.instanceId }, 'an idle instance is stopped');
      void instances.remove(instance);
    }
    cancel = clock.setTimer(SCAN_EVERY_MS, scan);
  };
  let cancel = clock.setTimer(SCAN_EVERY_MS, scan);
  return () => {
    cancel();
  };
}
