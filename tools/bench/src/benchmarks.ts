import type { TestHome } from '@holdfast/testbeds';
import { compareAdoption } from './adoption/compare-adoption.ts';
import type { Comparison } from './comparison.ts';
import { compareJournal } from './journal/compare-journal.ts';
import { compareLedger, LEDGER_DATABASES } from './ledger/compare-ledger.ts';
import { compareRelay } from './relay/compare-relay.ts';
import { LOAD_NAMES } from './relay/loads.ts';
import { compareReplay } from './stream/compare-replay.ts';
import { compareUnderFlood } from './stream/compare-under-flood.ts';

/** How much is measured. */
export interface Extent {
  /** Pairs of one comparison. */
  readonly runs: number;
  /** What share of the full number of events is sent. */
  readonly share: number;
}

/** Something to measure. */
export interface Benchmark {
  readonly name: string;
  readonly run: (home: TestHome, extent: Extent) => Promise<readonly Comparison[]>;
}

/** All of them, in the order in which they run. */
export const BENCHMARKS: readonly Benchmark[] = [
  ...[1, 25, 100, 500].map((instances) => ({
    name: `adoption-${String(instances)}`,
    run: async (home: TestHome, { runs }: Extent) => await compareAdoption(home, { instances, runs }),
  })),
  ...[1, 8].flatMap((agents) =>
    LOAD_NAMES.map((load) => ({
      name: `relay-${load}-${String(agents)}`,
      run: async (home: TestHome, { runs, share }: Extent) =>
        await compareRelay(home, { load, agents, runs, share }),
    })),
  ),
  { name: 'journal', run: async (_home, extent) => await compareJournal(extent) },
  { name: 'replay-1000', run: async (home, { runs }) => await compareReplay(home, { runs }) },
  { name: 'flood', run: async (home, extent) => await compareUnderFlood(home, extent) },
  ...LEDGER_DATABASES.map((database) => ({
    name: `ledger-${database}`,
    run: async (home: TestHome, { runs, share }: Extent) =>
      await compareLedger(home, { database, runs, share }),
  })),
];
