/**
 * Measures both sides in turn, one pair after the other, and swaps who goes first from pair to pair. A pair before the first
 * warms caches and compilers up and is dropped.
 */
export async function alternate<Measured>(
  runs: number,
  ours: () => Promise<Measured>,
  bare: () => Promise<Measured>,
): Promise<ReadonlyArray<{ readonly ours: Measured; readonly bare: Measured }>> {
  const pairs: Array<{ ours: Measured; bare: Measured }> = [];
  for (let run = 0; run <= runs; run += 1) {
    const first = run % 2 === 0 ? await ours() : await bare();
    const second = run % 2 === 0 ? await bare() : await ours();
    pairs.push(run % 2 === 0 ? { ours: first, bare: second } : { ours: second, bare: first });
  }
  return pairs.slice(1);
}
