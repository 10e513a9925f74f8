import type { SequencedEvent } from '@holdfast/control-protocol';
import { postgresServer, type TestHome } from '@holdfast/testbeds';
import { openLedger, type ApplyOutcome, type Ledger } from '@holdfast/turn-ledger';
import { alternate } from '../alternate.ts';
import type { Comparison } from '../comparison.ts';
import { barePostgres, bareSqlite, type BareDatabase } from './bare-database.ts';
import { bareAppend, bareApply } from './bare-work.ts';
import { addRunningSessions } from './ledger-stage.ts';

/** The databases that are compared. */
export const LEDGER_DATABASES = ['sqlite', 'postgres'] as const;
export type LedgerDatabaseName = (typeof LEDGER_DATABASES)[number];

const OUTCOMES = 1000;
const BATCHES = 500;
const EVENTS_PER_BATCH = 20;
const EVENT_BYTES = 500;
const AT = '2026-11-30T12:00:00.000Z';

/** One and the same database, the ledger on it, and hand-written SQL beside it. */
interface Both {
  readonly ledger: Ledger;
  readonly bare: BareDatabase;
  /** Sets the stage over a connection of its own, so that neither side finds it in its cache. */
  readonly stager: BareDatabase;
  /** The bare side's start of a transaction, as the ledger's. */
  readonly begin: string;
}

/** Outcomes are applied and events appended, one transaction after the other, by the ledger and by hand-written SQL. */
export async function compareLedger(
  home: TestHome,
  {
    database,
    runs,
    share,
  }: { readonly database: LedgerDatabaseName; readonly runs: number; readonly share: number },
): Promise<readonly Comparison[]> {
  if (database === 'sqlite') {
    const path = home.path('ledger.db');
    await using ledger = await openLedger({ url: path });
    await using bare = bareSqlite(path);
    await using stager = bareSqlite(path);
    return await compare({ ledger, bare, stager, begin: 'begin immediate' }, database, { runs, share });
  }
  await using server = await postgresServer(home);
  await using ledger = await openLedger({ url: server.url });
  await using bare = await barePostgres(server.url);
  await using stager = await barePostgres(server.url);
  return await compare({ ledger, bare, stager, begin: 'begin' }, database, { runs, share });
}

async function compare(
  { ledger, bare, stager, begin }: Both,
  database: LedgerDatabaseName,
  { runs, share }: { readonly runs: number; readonly share: number },
): Promise<readonly Comparison[]> {
  let stages = 0;
  const stage = async (sessions: number): Promise<readonly string[]> => {
    stages += 1;
    return await addRunningSessions(stager, `s${String(stages)}`, sessions);
  };
  const outcomes = Math.round(OUTCOMES * share);
  const applied = await alternate(
    runs,
    async () => {
      const given = (await stage(outcomes)).map(outcomeOf);
      return await perSecond(given, async (outcome) => {
        if (!(await ledger.outcomes.apply(outcome)).applied) throw new Error('an outcome was not applied');
      });
    },
    async () => {
      const given = (await stage(outcomes)).map(outcomeOf);
      return await perSecond(given, async (outcome) => {
        await bareApply(bare, begin, outcome);
      });
    },
  );
  const batches = eventBatches(Math.round(BATCHES * share));
  const appended = await alternate(
    runs,
    async () => {
      const [name = ''] = await stage(1);
      return await perSecond(batches, async (events) => {
        await ledger.events.append(name, events);
      });
    },
    async () => {
      const [name = ''] = await stage(1);
      return await perSecond(batches, async (events) => {
        await bareAppend(bare, begin, { executionId: name, sessionId: name, events });
      });
    },
  );
  return [
    { name: `ledger-${database} apply`, unit: 'outcomes/s', pairs: applied },
    {
      name: `ledger-${database} append`,
      unit: 'events/s',
      pairs: appended.map(({ ours, bare: theirs }) => ({
        ours: ours * EVENTS_PER_BATCH,
        bare: theirs * EVENTS_PER_BATCH,
      })),
    },
  ];
}

async function perSecond<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  for (const item of items) await work(item);
  return (items.length / (performance.now() - startedAt)) * 1000;
}

function outcomeOf(name: string): ApplyOutcome {
  return {
    executionId: name,
    promptGeneration: 1,
    controlTurnId: `c-${name}`,
    outcome: { kind: 'completed', stopReason: 'end_turn' },
    endedAt: AT,
  };
}

function eventBatches(count: number): ReadonlyArray<readonly SequencedEvent[]> {
  const text = 'x'.repeat(EVENT_BYTES);
  return Array.from({ length: count }, (_, batch) =>
    Array.from({ length: EVENTS_PER_BATCH }, (__, index) => ({
      seq: batch * EVENTS_PER_BATCH + index + 1,
      at: AT,
      event: {
        type: 'session_update' as const,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      },
    })),
  );
}
