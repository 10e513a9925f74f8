import type { InstanceEvent } from '@holdfast/control-protocol';
import { openLedger, type StoredEvent, type TurnRecord } from '@holdfast/turn-ledger';

/** What is left of a session when its backends are gone. */
export interface StoredSession {
  readonly events: readonly StoredEvent[];
  readonly turns: readonly TurnRecord[];
}

/** Reads a session from the ledger of an installation that no backend holds. */
export async function readStoredSession(ledgerFile: string, sessionId: string): Promise<StoredSession> {
  await using ledger = await openLedger({ url: ledgerFile });
  return {
    events: await ledger.events.read(sessionId, { after: 0, limit: 1_000_000 }),
    turns: await ledger.turns.list(sessionId),
  };
}

/** The events of one type, in their order. */
export function eventsOf<Type extends InstanceEvent['type']>(
  { events }: StoredSession,
  type: Type,
): readonly Extract<InstanceEvent, { readonly type: Type }>[] {
  return events
    .map(({ event }) => event)
    .filter((event): event is Extract<InstanceEvent, { readonly type: Type }> => event.type === type);
}
