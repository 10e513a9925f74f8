/** `npm run bench [-- --only NAME] [-- --quick] [-- --json FILE]`: see docs/benchmarks.md. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { testHome } from '@holdfast/testbeds';
import { BENCHMARKS, type Benchmark, type Extent } from './benchmarks.ts';
import { summarise, type Summary } from './comparison.ts';
import { formatTable } from './table.ts';

const FULL: Extent = { runs: 9, share: 1 };
const QUICK: Extent = { runs: 3, share: 0.1 };

const { values } = parseArgs({
  options: {
    /** A name, or the first words of several: `relay`. */
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const { only } = values;
const chosen = BENCHMARKS.filter(
  ({ name }) => only === undefined || name === only || name.startsWith(`${only}-`),
);
if (chosen.length === 0) {
  const names = BENCHMARKS.map(({ name }) => name).join(', ');
  process.stderr.write(`--only ${String(only)}: there is no such benchmark; there are ${names}\n`);
  process.exit(2);
}

// A signal ends what is running with all it started, and then this process as it would have.
const interrupted = Promise.withResolvers<never>();
let endedBy: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endedBy = signal;
    interrupted.reject(new Error(`ended by ${signal}`));
  });
}
const summaries: Summary[] = [];
try {
  for (const benchmark of chosen) {
    process.stderr.write(`${benchmark.name} …\n`);
    summaries.push(...(await measure(benchmark, values.quick ? QUICK : FULL)));
  }
} catch (error) {
  if (endedBy === undefined) throw error;
  process.kill(process.pid, endedBy);
}
process.stdout.write(formatTable(summaries));
if (values.json !== undefined) {
  const report = { at: new Date().toISOString(), node: process.version, results: summaries };
  await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
}

/** Runs one benchmark in a folder of its own; whatever still lives off the folder afterwards is ended, and an error. */
async function measure({ name, run }: Benchmark, extent: Extent): Promise<readonly Summary[]> {
  await using home = await testHome(`bench-${name}`);
  const comparisons = await Promise.race([run(home, extent), interrupted.promise]);
  return comparisons.map(summarise);
}
