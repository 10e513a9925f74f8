import type { PromptIdentity } from './prompt-identity.ts';

/** What the execution store tells about prompts. Whatever stands between it and the orchestrator keeps this (GENERATION-09). */
export interface CurrentPrompts {
  /** The latest prompt of an execution that the store holds; null where it holds none, or none was prompted. */
  current(executionId: string): PromptIdentity | null;
}

/** Whether a ready event may have consequences. */
export type ReadyJudgement =
  | { readonly kind: 'current' }
  /** Ignore the event: nothing proves that it is about the present. `not_provable`: the store could not be asked. */
  | { readonly kind: 'stale'; readonly why: 'execution_not_held' | 'superseded' | 'not_provable' };

/**
 * The orchestrator's check, made under the session guard before it completes a turn, makes the pending move or runs
 * on-turn-complete: what cannot be proven current is stale (GENERATION-08), also where the store came without its check.
 */
export function judgeReady(
  { executionId, promptGeneration }: PromptIdentity,
  store: Partial<CurrentPrompts> | null | undefined,
): ReadyJudgement {
  if (typeof store?.current !== 'function') return { kind: 'stale', why: 'not_provable' };
  const current = store.current(executionId);
  if (current?.executionId !== executionId) return { kind: 'stale', why: 'execution_not_held' };
  return current.promptGeneration === promptGeneration
    ? { kind: 'current' }
    : { kind: 'stale', why: 'superseded' };
}
