/** The prompt that an execution works on. */
export interface ActivePrompt {
  readonly generation: number;
  /** The control server's turn id; null until the prompt was accepted. */
  readonly turnId: string | null;
}

/** What is known about the prompts of one execution. `ended`: another execution has taken its place, or none. */
export interface PromptState {
  /** The number of the latest dispatch attempt; 0 before the first. It only rises (GENERATION-02, -03). */
  readonly promptGeneration: number;
  readonly active: ActivePrompt | null;
  readonly status: 'ready' | 'running' | 'ended';
}

/** What can happen to the prompts of an execution. */
export type PromptStep =
  | { readonly type: 'begin' }
  | { readonly type: 'dispatch_failed'; readonly generation: number }
  | { readonly type: 'accepted'; readonly generation: number; readonly turnId: string }
  | { readonly type: 'terminal'; readonly generation: number }
  /** Recovery: go on from what the instance reports. */
  | { readonly type: 'resume'; readonly highestGeneration: number; readonly active: ActivePrompt | null }
  | { readonly type: 'end' };

/**
 * `taken`: the step counts. Otherwise it says why it was dropped, and the state is the same object as before:
 * `superseded`, a later prompt has begun; `not_active`, that prompt has ended already; `no_prompt`, an activity that no
 * prompt started (generation 0); `execution_ended`.
 */
export type PromptVerdict = 'taken' | 'superseded' | 'not_active' | 'no_prompt' | 'execution_ended';

/** Before the first prompt. */
export const initialPrompts: PromptState = { promptGeneration: 0, active: null, status: 'ready' };

/** The rules of prompt ownership (GENERATION-01, -02, -03, -06). Pure. */
export function reducePrompts(
  state: PromptState,
  step: PromptStep,
): { readonly state: PromptState; readonly verdict: PromptVerdict } {
  if (state.status === 'ended') return { state, verdict: 'execution_ended' };
  switch (step.type) {
    case 'begin': {
      const generation = state.promptGeneration + 1;
      return taken({ promptGeneration: generation, active: { generation, turnId: null }, status: 'running' });
    }
    case 'resume': {
      const promptGeneration = Math.max(
        state.promptGeneration,
        step.highestGeneration,
        step.active?.generation ?? 0,
      );
      return taken({
        promptGeneration,
        active: step.active,
        status: step.active === null ? 'ready' : 'running',
      });
    }
    case 'end':
      return taken({ ...state, active: null, status: 'ended' });
    case 'accepted': {
      const verdict = judge(state, step.generation);
      const active = { generation: step.generation, turnId: step.turnId };
      return verdict === 'taken' ? taken({ ...state, active }) : { state, verdict };
    }
    case 'dispatch_failed':
    case 'terminal': {
      const verdict = judge(state, step.generation);
      return verdict === 'taken' ? taken({ ...state, active: null, status: 'ready' }) : { state, verdict };
    }
  }
}

function taken(state: PromptState): { readonly state: PromptState; readonly verdict: PromptVerdict } {
  return { state, verdict: 'taken' };
}

function judge(state: PromptState, generation: number): PromptVerdict {
  if (generation === 0) return 'no_prompt';
  if (state.active?.generation === generation) return 'taken';
  return generation < state.promptGeneration ? 'superseded' : 'not_active';
}
