import type { RefusalReason } from '@holdfast/executor-contract';
import type { MissingInput } from '../reconstruction/reconstruct.ts';

/** What recovery came to for one row of the inventory. */
export type RowOutcome =
  | { readonly kind: 'retracked' }
  /** No live instance belongs to it. */
  | { readonly kind: 'no_instance' }
  /** A source says that a required value is absent, or is itself not there; the instance was stopped (SURVIVAL-002.4). */
  | { readonly kind: 'missing_input'; readonly name: MissingInput }
  /** A source did not answer; the instance was stopped (SURVIVAL-002.13). */
  | { readonly kind: 'failed_read'; readonly name: ReadName; readonly detail: string }
  /** Which of its session's live instances is its own cannot be told; all were stopped (SURVIVAL-002.10). */
  | { readonly kind: 'ambiguous' }
  /** These instances of its session are live and could not be stopped (SURVIVAL-002.16). */
  | { readonly kind: 'stop_failed'; readonly instanceIds: readonly string[] }
  /** The host could not store or take what was recovered. The instances run on, to be recovered by the next backend. */
  | { readonly kind: 'not_published'; readonly instanceIds: readonly string[]; readonly detail: string }
  /** The deadline came first; the instance is stopped, and the session guarded until that is done (SURVIVAL-003.7). */
  | { readonly kind: 'deadline' }
  | { readonly kind: 'adoption_refused'; readonly reason: RefusalReason }
  /** Its control server could not be enumerated: nothing recovered, nothing stopped (SURVIVAL-002.12). */
  | { readonly kind: 'not_enumerated' };

/** The reads of a session's recovery; `row`: what its row holds in metadata. */
export type ReadName = 'row' | 'reconstruction' | 'turn' | 'profile' | 'session';

/** What follows from an outcome. */
export interface OutcomeEffect {
  /** `hold`: for the rest of this backend's life. */
  readonly guard: 'release' | 'hold';
  /**
   * `live`: its process is there. `repair`: it stops claiming a process, keeping resume token and worktree, once its liveness says
   * that the process is gone. `keep`: it stays as it is, and is judged again before the session is launched.
   */
  readonly row: 'live' | 'repair' | 'keep';
  /** Whether reconciliation makes its session and task state truthful. */
  readonly session: 'untouched' | 'reconcile';
  /** The counter that goes up by one for each row that comes to it. */
  readonly counter: `holdfast.recovery.${string}`;
}

/** The effects of every outcome; hosts do this and nothing else. */
export const OUTCOME_EFFECTS: { readonly [Kind in RowOutcome['kind']]: OutcomeEffect } = {
  retracked: effect('release', 'live', 'untouched', 'retracked'),
  no_instance: effect('release', 'repair', 'reconcile', 'no_instance'),
  missing_input: effect('release', 'repair', 'reconcile', 'missing_input'),
  failed_read: effect('release', 'repair', 'reconcile', 'failed_read'),
  ambiguous: effect('release', 'repair', 'reconcile', 'ambiguous'),
  stop_failed: effect('hold', 'keep', 'reconcile', 'stop_failed'),
  not_published: effect('hold', 'keep', 'untouched', 'not_published'),
  deadline: effect('release', 'repair', 'reconcile', 'deadline'),
  adoption_refused: effect('release', 'keep', 'reconcile', 'adoption_refused'),
  not_enumerated: effect('release', 'keep', 'reconcile', 'not_enumerated'),
};

function effect(
  guard: OutcomeEffect['guard'],
  row: OutcomeEffect['row'],
  session: OutcomeEffect['session'],
  counted: RowOutcome['kind'],
): OutcomeEffect {
  return { guard, row, session, counter: `holdfast.recovery.${counted}` };
}

/** One line for a person. */
export function describeOutcome(outcome: RowOutcome): string {
  switch (outcome.kind) {
    case 'retracked':
      return 're-tracked';
    case 'no_instance':
      return 'no live instance';
    case 'missing_input':
      return `stopped: ${outcome.name} is missing`;
    case 'failed_read':
      return `stopped: ${outcome.name} could not be read (${outcome.detail})`;
    case 'ambiguous':
      return 'stopped: several live instances, none of them certainly its own';
    case 'stop_failed':
      return `could not be stopped: ${outcome.instanceIds.join(', ')}; launches are refused`;
    case 'not_published':
      return `left running (${outcome.instanceIds.join(', ')}): ${outcome.detail}; launches are refused`;
    case 'deadline':
      return 'stopped: not recovered before the deadline';
    case 'adoption_refused':
      return `not recovered: adoption refused (${outcome.reason})`;
    case 'not_enumerated':
      return 'not recovered: its control server could not be enumerated';
  }
}
