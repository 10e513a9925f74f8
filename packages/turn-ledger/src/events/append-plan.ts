/** What to do with events that arrived for an execution whose cursor stands somewhere. */
export type AppendPlan<E> =
  | { readonly kind: 'append'; readonly fresh: readonly E[]; readonly skipped: number }
  | { readonly kind: 'gap'; readonly expectedSeq: number; readonly receivedSeq: number };

/** Takes what comes right after the cursor, skips repeats, and stops at the first gap: then nothing is taken. */
export function planAppend<E extends { readonly seq: number }>(
  cursor: number,
  events: readonly E[],
): AppendPlan<E> {
  const fresh: E[] = [];
  for (const event of events) {
    const expectedSeq = cursor + fresh.length + 1;
    if (event.seq > expectedSeq) return { kind: 'gap', expectedSeq, receivedSeq: event.seq };
    if (event.seq === expectedSeq) fresh.push(event);
  }
  return { kind: 'append', fresh, skipped: events.length - fresh.length };
}
