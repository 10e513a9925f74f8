import type { SessionResult } from './messages.ts';
import type { DemoSession } from './scenario.ts';

/** What is known when the demo is over. */
export interface Evidence {
  readonly sessions: readonly DemoSession[];
  /** By session name: the agent's pid and the turn under the first backend. */
  readonly before: ReadonlyMap<string, { readonly agentPid: number; readonly turnId: string }>;
  /** How often each turn's outcome was applied, over both backends. */
  readonly applied: ReadonlyMap<string, number>;
  readonly results: readonly SessionResult[];
}

/** What it comes to. */
export interface Verdict {
  readonly lost: number;
  readonly doubled: number;
  /** One sentence for each thing that is not as it must be. */
  readonly faults: readonly string[];
}

/** Counts what was lost and doubled, and says what else is wrong. Pure. */
export function judge({ sessions, before, applied, results }: Evidence): Verdict {
  let lost = 0;
  let doubled = 0;
  const faults: string[] = [];
  for (const { name, chunks } of sessions) {
    const first = before.get(name);
    const result = results.find((candidate) => candidate.name === name);
    if (first === undefined || result === undefined) {
      faults.push(`${name}: no result`);
      continue;
    }
    if (result.agentPid !== first.agentPid) {
      faults.push(`${name}: agent ${String(first.agentPid)} became ${String(result.agentPid)}`);
    }
    const times = applied.get(first.turnId) ?? 0;
    lost += times === 0 ? 1 : 0;
    doubled += Math.max(0, times - 1);
    if (result.outcome !== 'completed') faults.push(`${name}: the turn ended ${result.outcome}`);
    if (result.followUp !== 'completed') faults.push(`${name}: the further prompt ended ${result.followUp}`);

    const events = countGaps(result.positions, result.produced);
    const numbered = chunks === 0 ? NOTHING : countGaps(result.chunks, chunks);
    lost += events.missing + numbered.missing;
    doubled += events.repeated + numbered.repeated;
    if (!events.ordered || !numbered.ordered) faults.push(`${name}: events out of order`);
  }
  if (lost > 0) faults.push(`${String(lost)} lost`);
  if (doubled > 0) faults.push(`${String(doubled)} doubled`);
  return { lost, doubled, faults };
}

const NOTHING = { missing: 0, repeated: 0, ordered: true };

/** Compares numbers with 1 to `last`, each once, in order. */
function countGaps(
  numbers: readonly number[],
  last: number,
): { readonly missing: number; readonly repeated: number; readonly ordered: boolean } {
  const seen = new Set(numbers);
  return {
    missing: Math.max(0, last - seen.size),
    repeated: numbers.length - seen.size,
    ordered: numbers.every((number, index) => index === 0 || number >= (numbers[index - 1] ?? 0)),
  };
}
