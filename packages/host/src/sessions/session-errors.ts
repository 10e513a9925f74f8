import { inspect } from 'node:util';
import type { SessionChoice } from '@holdfast/control-protocol';
import { HostError } from '../host-errors.ts';

/** No session of that id is in the ledger. */
export class SessionNotFoundError extends HostError {
  override readonly name = 'SessionNotFoundError';
  readonly code = 'session_not_found';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(`there is no session ${sessionId}`);
    this.sessionId = sessionId;
  }
}

/** The session has no live agent, or lost it during the call. */
export class SessionNotLiveError extends HostError {
  override readonly name = 'SessionNotLiveError';
  readonly code = 'session_not_live';
  readonly sessionId: string;

  constructor(sessionId: string, cause?: unknown) {
    super(
      `session ${sessionId} has no running agent; a prompt starts one`,
      cause === undefined ? {} : { cause },
    );
    this.sessionId = sessionId;
  }
}

/** Another backend drives the session's control server now, and the session with it (OWNERSHIP-002.3). */
export class SessionTakenOverError extends HostError {
  override readonly name = 'SessionTakenOverError';
  readonly code = 'session_taken_over';
  readonly sessionId: string;

  constructor(sessionId: string, cause: unknown) {
    super(
      `session ${sessionId} is driven by another backend now; prompt it there, or end that backend and start this one again`,
      { cause },
    );
    this.sessionId = sessionId;
  }
}

/** The session's last turn has not ended; cancel it or await its outcome first. */
export class TurnInProgressError extends HostError {
  override readonly name = 'TurnInProgressError';
  readonly code = 'turn_in_progress';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(
      `session ${sessionId} has a turn in progress; cancel it or await its outcome before the next prompt`,
    );
    this.sessionId = sessionId;
  }
}

/** The prompt may or may not have reached the agent: its turn settles when that is known. */
export class PromptUnresolvedError extends HostError {
  override readonly name = 'PromptUnresolvedError';
  readonly code = 'prompt_unresolved';
  readonly turnId: string;

  constructor(turnId: string, cause: unknown) {
    super(
      `the control server did not say whether it accepted the prompt of turn ${turnId}; ` +
        'do not prompt again before host.turns.get(id) tells its outcome',
      { cause },
    );
    this.turnId = turnId;
  }
}

function describeChoice(choice: SessionChoice): string {
  switch (choice.kind) {
    case 'mode':
      return `mode ${choice.modeId}`;
    case 'model':
      return `model ${choice.modelId}`;
    case 'config_option':
      return `option ${choice.optionId} = ${inspect(choice.value)}`;
  }
}

/** The agent does not take the mode, model or option: the session stays as it was. */
export class ChoiceRefusedError extends HostError {
  override readonly name = 'ChoiceRefusedError';
  readonly code = 'choice_refused';
  readonly sessionId: string;
  readonly choice: SessionChoice;

  constructor(sessionId: string, choice: SessionChoice, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${describeChoice(choice)} was not taken by the agent of session ${sessionId}: ${why}`, { cause });
    this.sessionId = sessionId;
    this.choice = choice;
  }
}

/** Whether the agent took the mode, model or option is not known, and it is not kept for its next start. */
export class ChoiceUnresolvedError extends HostError {
  override readonly name = 'ChoiceUnresolvedError';
  readonly code = 'choice_unresolved';
  readonly sessionId: string;
  readonly choice: SessionChoice;

  constructor(sessionId: string, choice: SessionChoice, cause: unknown) {
    super(
      `the agent of session ${sessionId} did not say whether it took ${describeChoice(choice)}; set it again`,
      { cause },
    );
    this.sessionId = sessionId;
    this.choice = choice;
  }
}
