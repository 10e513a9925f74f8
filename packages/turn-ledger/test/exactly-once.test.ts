import type { InstanceEvent, SequencedEvent, TurnOutcome } from '@holdfast/control-protocol';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EventGapError, openLedger, outcomeEffects, TurnOpenError, type Ledger } from '@holdfast/turn-ledger';
import { eachDatabase } from './each-database.ts';
import { aTurn, AT, numbered, recordLiveSession, said } from './recorded-session.ts';

/** What a control server has to tell: a journal in which every prompt, and what the agent does on its own, starts and ends once. */
const journalArbitrary = fc
  .array(
    fc.record({
      kind: fc.constantFrom(
        'completed' as const,
        'cancelled' as const,
        'refused' as const,
        'failed' as const,
      ),
      updates: fc.nat({ max: 3 }),
      /** The agent works on its own before this prompt. */
      own: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((turns) =>
    turns.flatMap(({ kind, updates, own }, index): InstanceEvent[] => {
      const promptGeneration = index + 1;
      const turnId = `c${String(promptGeneration)}`;
      const ownTurn = { turnId: `own${String(promptGeneration)}`, promptGeneration: 0 };
      const alone: InstanceEvent[] = [
        { type: 'turn_started', ...ownTurn },
        { type: 'turn_ended', ...ownTurn, outcome: { kind, stopReason: 'on its own' } },
      ];
      return [
        ...(own ? alone : []),
        { type: 'turn_started', turnId, promptGeneration },
        ...Array.from({ length: updates }, (_, count) => said(`${turnId}.${String(count)}`)),
        { type: 'turn_ended', turnId, promptGeneration, outcome: { kind, stopReason: 'as told' } },
      ];
    }),
  )
  .map((events) => numbered(1, ...events));

type Command =
  | { readonly type: 'begin' | 'abandon' | 'fail' | 'accept' | 'reopen' | 'crash' }
  | { readonly type: 'append'; readonly from: number; readonly count: number }
  | { readonly type: 'apply'; readonly which: number };

const commandArbitrary: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('begin' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('abandon' as const, 'fail' as const, 'accept' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('reopen' as const, 'crash' as const) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('append' as const),
      /** Where to begin, from the cursor: repeats below 0, a gap above. */
      from: fc.integer({ min: -4, max: 1 }),
      count: fc.nat({ max: 6 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('apply' as const), which: fc.nat({ max: 4 }) }) },
);

interface ModelTurn {
  readonly turnId: string;
  readonly generation: number;
  state: string;
  controlTurnId: string | null;
  outcome: TurnOutcome | null;
}

function isOpen(state: string): boolean {
  return state === 'dispatching' || state === 'running';
}

/** What the ledger is to hold, kept the simple way. */
class Model {
  readonly stored: SequencedEvent[] = [];
  readonly turns: ModelTurn[] = [];
  session = 'starting';
  task = { state: 'in_progress', failed: false };
  applied = 0;

  get open(): ModelTurn | undefined {
    return this.turns.find(({ generation, state }) => generation > 0 && isOpen(state));
  }

  begin(turnId: string, generation: number): void {
    this.turns.push({ turnId, generation, state: 'dispatching', controlTurnId: null, outcome: null });
    this.session = 'running';
    this.task = { state: 'in_progress', failed: false };
  }

  start(controlTurnId: string, generation: number): void {
    if (generation === 0) {
      this.turns.push({ turnId: controlTurnId, generation, state: 'running', controlTurnId, outcome: null });
      this.session = 'running';
      return;
    }
    const { open } = this;
    if (open?.generation !== generation) return;
    open.state = 'running';
    open.controlTurnId = controlTurnId;
  }

  end(controlTurnId: string, generation: number, outcome: TurnOutcome): void {
    const own = this.turns.find(({ turnId, state }) => turnId === controlTurnId && isOpen(state));
    if (own !== undefined) {
      Object.assign(own, { state: outcomeEffects(outcome).turn, outcome });
      this.rest();
      this.applied += 1;
    }
    const { open } = this;
    if (open?.generation !== generation) return;
    const effects = outcomeEffects(outcome);
    Object.assign(open, { state: effects.turn, controlTurnId, outcome });
    this.session = effects.session;
    if (effects.task === 'to_review') this.task.state = 'review';
    if (effects.task === 'marked_failed') this.task.failed = true;
    this.applied += 1;
  }

  drop(state: 'abandoned' | 'failed'): void {
    const { open } = this;
    if (open === undefined || (state === 'failed' && open.state !== 'dispatching')) return;
    open.state = state;
    this.rest();
  }

  rest(): void {
    if (this.session === 'running' && !this.turns.some(({ state }) => isOpen(state))) {
      this.session = 'waiting_for_input';
    }
  }

  take(event: SequencedEvent): void {
    this.stored.push(event);
    const { event: told } = event;
    if (told.type === 'turn_started') this.start(told.turnId, told.promptGeneration);
    if (told.type === 'turn_ended') this.end(told.turnId, told.promptGeneration, told.outcome);
  }
}

let crashing = false;

/** A ledger that fails in the middle of a transaction while `crashing`. */
async function openCrashing(url: string): Promise<Ledger> {
  return await openLedger({
    url,
    mapOutcome: (outcome) => {
      if (crashing) throw new Error('crashed');
      return outcomeEffects(outcome);
    },
  });
}

/** A ledger next to its model. Whatever the ledger answers has to be what the model says. */
class Bench {
  readonly model = new Model();
  readonly journal: readonly SequencedEvent[];
  readonly url: string;
  ledger: Ledger;
  /** How often the ledger said that it applied an outcome. */
  applied = 0;

  constructor(given: { url: string; journal: readonly SequencedEvent[]; ledger: Ledger }) {
    this.url = given.url;
    this.journal = given.journal;
    this.ledger = given.ledger;
  }

  async act(command: Command): Promise<void> {
    const { model, ledger } = this;
    const { open } = model;
    switch (command.type) {
      case 'begin':
        await this.#begin(model.turns.filter(({ generation }) => generation > 0).length + 1);
        break;
      case 'accept':
        if (open === undefined) break;
        await ledger.turns.accepted(open.turnId, `c${String(open.generation)}`);
        model.start(`c${String(open.generation)}`, open.generation);
        break;
      case 'abandon':
        if (open !== undefined) await ledger.turns.abandon(open.turnId);
        model.drop('abandoned');
        break;
      case 'fail':
        if (open !== undefined)
          await ledger.turns.dispatchFailed(open.turnId, { code: 'no', message: 'No.' });
        model.drop('failed');
        break;
      case 'reopen':
        await ledger.close();
        this.ledger = await openCrashing(this.url);
        break;
      case 'crash':
        await this.#crash();
        break;
      case 'append':
        await this.#append(
          this.journal.slice(Math.max(0, model.stored.length + command.from)).slice(0, command.count),
        );
        break;
      case 'apply':
        await this.#apply(command.which);
        break;
    }
  }

  async #begin(generation: number): Promise<void> {
    const begin = this.ledger.turns.begin(aTurn('s', generation));
    if (this.model.open !== undefined) {
      await expect(begin).rejects.toBeInstanceOf(TurnOpenError);
      return;
    }
    await begin;
    this.model.begin(`s-${String(generation)}`, generation);
  }

  async #append(events: readonly SequencedEvent[]): Promise<void> {
    const cursor = this.model.stored.length;
    const append = this.ledger.events.append('s', events);
    if ((events[0]?.seq ?? 0) > cursor + 1) {
      await expect(append).rejects.toBeInstanceOf(EventGapError);
      return;
    }
    const fresh = events.filter((event) => event.seq > cursor);
    const result = await append;
    expect(result).toMatchObject({ stored: fresh.length, skipped: events.length - fresh.length });
    this.applied += result.applied.filter((one) => one.applied).length;
    for (const event of fresh) this.model.take(event);
  }

  /** In the middle of storing everything that is left: nothing of it counts. */
  async #crash(): Promise<void> {
    const left = this.journal.slice(this.model.stored.length);
    if (!left.some(({ event }) => event.type === 'turn_ended')) return;
    crashing = true;
    await expect(this.ledger.events.append('s', left)).rejects.toThrow('crashed');
    crashing = false;
    await this.ledger.close();
    this.ledger = await openCrashing(this.url);
  }

  /** As from the retained list, twice at once. */
  async #apply(which: number): Promise<void> {
    const ends = this.journal.flatMap(({ event }) => (event.type === 'turn_ended' ? [event] : []));
    const end = ends[which % ends.length];
    if (end === undefined) return;
    const { promptGeneration, turnId: controlTurnId, outcome } = end;
    const given = { executionId: 's', promptGeneration, controlTurnId, outcome, endedAt: AT };
    const results = await Promise.all([this.ledger.outcomes.apply(given), this.ledger.outcomes.apply(given)]);
    this.applied += results.filter((one) => one.applied).length;
    this.model.end(controlTurnId, promptGeneration, outcome);
  }

  async expectSame(): Promise<void> {
    const { ledger, model } = this;
    expect(this.applied).toBe(model.applied);
    const turns = (await ledger.turns.list('s')).map(
      ({ turnId, promptGeneration: generation, state, controlTurnId, outcome }) => ({
        turnId,
        generation,
        state,
        controlTurnId,
        outcome,
      }),
    );
    expect(turns).toEqual(model.turns);
    expect(await ledger.sessions.get('s')).toMatchObject({ state: model.session });
    expect(await ledger.tasks.get('s-task')).toMatchObject(model.task);
    expect(await ledger.events.cursor('s')).toBe(model.stored.length);
    const events = await ledger.events.read('s', { after: 0, limit: 1_000 });
    expect(events).toEqual(
      model.stored.map((event) => ({ ...event, position: event.seq, executionId: 's' })),
    );
  }
}

eachDatabase((database) => {
  it('repeats, gaps, crashes, restarts and both ways of seeing an end, in any order: each event and each outcome counts once [SURVIVAL-004.4] [BEYOND-02]', async () => {
    let runs = 0;
    const commands = fc.array(commandArbitrary, { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(journalArbitrary, commands, async (journal, steps) => {
        runs += 1;
        const url = await database.fresh();
        const bench = new Bench({ url, journal, ledger: await openCrashing(url) });
        try {
          await recordLiveSession(bench.ledger, 's');
          for (const step of steps) await bench.act(step);
          await bench.expectSame();
        } finally {
          await bench.ledger.close();
        }
      }),
      { numRuns: 60 },
    );
    expect(runs).toBeGreaterThanOrEqual(60);
  });
});
