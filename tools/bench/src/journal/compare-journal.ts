import { Journal, type JournalReader } from '../../../../packages/control-server/src/journal/journal.ts';
import { systemClock } from '../../../../packages/control-server/src/ports/clock.ts';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';

const EVENTS = 200_000;
const WINDOW_EVENTS = 1000;
const FRAME_BYTES = 256 * 1024;
const EVENT = {
  type: 'session_update',
  update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x'.repeat(200) } },
} as const;

/** Events are published, read in frames and acknowledged within one process: by the journal, and by an array with a bound. */
export async function compareJournal({
  runs,
  share,
}: {
  readonly runs: number;
  readonly share: number;
}): Promise<readonly Comparison[]> {
  const count = Math.round(EVENTS * share);
  const perSecond = async (work: (events: number) => Promise<void>): Promise<number> => {
    const startedAt = performance.now();
    await work(count);
    return (count / (performance.now() - startedAt)) * 1000;
  };
  const pairs = await alternate(
    runs,
    async () => await perSecond(throughJournal),
    async () => await perSecond(throughArray),
  );
  return [{ name: 'journal', unit: 'events/s', pairs }];
}

async function throughJournal(count: number): Promise<void> {
  const journal = new Journal({
    clock: systemClock(),
    detachedLimit: 100,
    maxBytes: 64 * 1024 * 1024,
    onFirstDropped: () => undefined,
  });
  const all = Promise.withResolvers<void>();
  let read = 0;
  let isReading = false;
  const readFrame = (): void => {
    isReading = false;
    const entries = journal.readAfter(read, FRAME_BYTES);
    send(entries.map(({ json }) => json));
    read = entries.at(-1)?.seq ?? read;
    journal.acknowledge(read);
    if (read === count) all.resolve();
    else reader.onAppended();
  };
  const reader: JournalReader = {
    onAppended: () => {
      if (isReading || read === journal.nextSeq - 1) return;
      isReading = true;
      setImmediate(readFrame);
    },
    onLossy: () => true,
  };
  journal.attach(reader);
  for (let event = 0; event < count; event += 1) await journal.publish(EVENT);
  await all.promise;
  journal.stop();
}

async function throughArray(count: number): Promise<void> {
  const all = Promise.withResolvers<void>();
  let queue: string[] = [];
  let read = 0;
  let isReading = false;
  let roomMade = Promise.withResolvers<void>();
  const readFrame = (): void => {
    isReading = false;
    const frame = queue;
    queue = [];
    send(frame);
    read += frame.length;
    roomMade.resolve();
    if (read === count) all.resolve();
  };
  for (let event = 0; event < count; event += 1) {
    if (queue.length === WINDOW_EVENTS) {
      roomMade = Promise.withResolvers();
      await roomMade.promise;
    }
    queue.push(JSON.stringify(EVENT));
    if (!isReading) {
      isReading = true;
      setImmediate(readFrame);
    }
  }
  await all.promise;
}

/** What becomes of a frame: its text is made, and leaves. */
function send(events: readonly string[]): void {
  if (events.length > 0 && events.join(',').length === 0) throw new Error('a frame of events has no text');
}
