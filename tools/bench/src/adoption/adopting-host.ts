/** The host that is measured: `adopting-host.ts HOME`. It tells its `AdoptionTimes` and waits to be killed. */
import type { AdoptionTimes } from './adoption-times.ts';
import { openBenchHost } from './bench-host.ts';

const [, , home = ''] = process.argv;
const startedAt = performance.now();
const { recovery } = await openBenchHost(home);
const times: AdoptionTimes = {
  wholeMs: performance.now() - startedAt,
  recoveryMs: recovery.tookMs,
  instances: recovery.counts.retracked ?? 0,
};
process.stdout.write(`${JSON.stringify(times)}\n`);
