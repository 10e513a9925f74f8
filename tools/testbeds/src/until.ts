import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';

/** What is left of `T` once it is known to be truthy. */
export type Truthy<T> = Exclude<T, false | 0 | 0n | '' | null | undefined>;

/** How long to wait for a condition, and what for. */
export interface UntilOptions {
  /** What is being waited for, as the end of the sentence "waited for …". */
  readonly reason: string;
  /** The deadline, in milliseconds from the call. */
  readonly withinMs: number;
  /** The pause between two looks, in milliseconds; 20 unless told. */
  readonly everyMs?: number;
}

/** A condition was not met by its deadline. `lastValue` is what it last gave, `cause` what it last threw. */
export class ConditionNotMetError extends Error {
  readonly code = 'condition_not_met';
  readonly reason: string;
  readonly withinMs: number;
  readonly lastValue: unknown;

  constructor(facts: { reason: string; withinMs: number; lastLook: Look }) {
    const { reason, withinMs, lastLook } = facts;
    super(
      `Waited ${String(withinMs)} ms for ${reason}; ${describeLook(lastLook)}.`,
      lastLook.kind === 'threw' ? { cause: lastLook.error } : undefined,
    );
    this.name = 'ConditionNotMetError';
    this.reason = reason;
    this.withinMs = withinMs;
    this.lastValue = lastLook.kind === 'gave' ? lastLook.value : undefined;
  }
}

type Look =
  | { readonly kind: 'gave'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'unanswered' };

function describeLook(look: Look): string {
  if (look.kind === 'gave') return `the last value was ${inspect(look.value, { depth: 4 })}`;
  if (look.kind === 'unanswered') return 'the condition never answered';
  return `the last look threw ${look.error instanceof Error ? String(look.error) : inspect(look.error)}`;
}

/**
 * Looks at a condition until it gives something truthy, and returns that. A look that throws counts as "not yet";
 * a look that hangs does not outlast the deadline. Throws `ConditionNotMetError` at the deadline.
 */
export async function until<T>(condition: () => T | Promise<T>, options: UntilOptions): Promise<Truthy<T>> {
  const { reason, withinMs, everyMs = 20 } = options;
  const deadline = performance.now() + withinMs;
  let lastLook: Look = { kind: 'unanswered' };
  for (;;) {
    const look = await lookOnce(condition, Math.max(deadline - performance.now(), 0));
    if (look.kind === 'met') return look.value;
    if (look.kind !== 'unanswered') lastLook = look;
    if (performance.now() + everyMs > deadline)
      throw new ConditionNotMetError({ reason, withinMs, lastLook });
    await wait(everyMs);
  }
}

async function lookOnce<T>(
  condition: () => T | Promise<T>,
  withinMs: number,
): Promise<Look | { readonly kind: 'met'; readonly value: Truthy<T> }> {
  const giveUp = new AbortController();
  const tooLate = wait(withinMs, { kind: 'unanswered' } as const, { signal: giveUp.signal });
  tooLate.catch(() => undefined); // aborted below, when the condition was faster
  try {
    return await Promise.race([tooLate, judge(condition)]);
  } catch (error) {
    return { kind: 'threw', error };
  } finally {
    giveUp.abort();
  }
}

async function judge<T>(
  condition: () => T | Promise<T>,
): Promise<Look | { readonly kind: 'met'; readonly value: Truthy<T> }> {
  const value = await condition();
  return isTruthy(value) ? { kind: 'met', value } : { kind: 'gave', value };
}

function isTruthy<T>(value: T): value is Truthy<T> {
  return Boolean(value);
}
