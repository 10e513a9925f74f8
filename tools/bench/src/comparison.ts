/** One thing measured twice, next to each other in time: by Holdfast and by a bare program that does the same work. */
export interface Pair {
  readonly ours: number;
  readonly bare: number;
}

/** All pairs of one measurement. */
export interface Comparison {
  readonly name: string;
  /** With `ms` less is better, with the others more. */
  readonly unit: 'ms' | 'events/s' | 'outcomes/s';
  readonly pairs: readonly Pair[];
}

/** Median and extremes of some numbers. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** What a comparison comes to. */
export interface Summary {
  readonly name: string;
  readonly unit: Comparison['unit'];
  readonly runs: number;
  readonly ours: Spread;
  readonly bare: Spread;
  /** Ours divided by bare, pair by pair: a noisy moment falls on both sides of its pair. */
  readonly ratio: Spread;
}

/** Sums a comparison up. */
export function summarise({ name, unit, pairs }: Comparison): Summary {
  return {
    name,
    unit,
    runs: pairs.length,
    ours: spreadOf(pairs.map(({ ours }) => ours)),
    bare: spreadOf(pairs.map(({ bare }) => bare)),
    ratio: spreadOf(pairs.map(({ ours, bare }) => ours / bare)),
  };
}

function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
  return {
    median: (lower + upper) / 2,
    min: sorted.at(0) ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}
