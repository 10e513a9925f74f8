import type { SequencedEvent } from '@holdfast/control-protocol';
import { ended, numbered, said, started } from '../recorded-session.ts';

/** The four events of a turn, the same in every life of the backend that stores them. */
export function eventsOfTurn(generation: number): SequencedEvent[] {
  const turnId = `c${String(generation)}`;
  return numbered(
    generation * 4 - 3,
    started(turnId, generation),
    said(`${turnId} works`),
    said(`${turnId} ${'x'.repeat((generation * 97) % 5_000)}`),
    ended(turnId, generation),
  );
}
