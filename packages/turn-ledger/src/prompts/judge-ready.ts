import type { PromptIdentity } from './prompt-identity.ts';

/** What the execution store tells about prompts. */
export interface CurrentPrompts {
  /** The latest prompt of an execution that the store holds; null where it holds none, or none was prompted. */
  current(executionId: string): PromptIdentity | null;
}

/** Whether a ready event may have consequences. */
export type ReadyJudgement =
  | { readonly kind: 'current' }
  /** Ignore the event: nothing proves that it is about the present. */
  | { readonly kind: 'stale'; readonly why: 'execution_not_held' | 'superseded' };

/**
 * The orchestrator's check, made under the session guard before it completes a turn, makes the pending move or runs
 * on-turn-complete: what cannot be proven current is stale.
 */
export function judgeReady(identity: PromptIdentity, store: CurrentPrompts): ReadyJudgement {
  const current = store.current(identity.executionId);
  if (current === null || current.executionId !== identity.executionId) {
    return { kind: 'stale', why: 'execution_not_held' };
  }
  return current.promptGeneration === identity.promptGeneration
    ? { kind: 'current' }
    : { kind: 'stale', why: 'superseded' };
}
