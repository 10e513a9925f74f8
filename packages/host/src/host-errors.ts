import { inspect } from 'node:util';
import type { SessionChoice } from '@holdfast/control-protocol';
import type { StartFailure } from './sessions/managed-start/start-failure.ts';
import type { RuntimeRepair } from './sessions/managed-start/start-plan.ts';

/** The errors of the host: each has a stable `code` and its facts as fields. */
abstract class HostError extends Error {
  abstract readonly code: string;
}

/** An option of `createHost` or of a session that is not accepted: nothing was started. */
export class HostOptionError extends HostError {
  override readonly name = 'HostOptionError';
  readonly code = 'host_option_not_accepted';
  readonly option: string;

  constructor(option: string, value: unknown, accepted: string) {
    super(`${option} = ${inspect(value)} is not accepted; it must be ${accepted}`);
    this.option = option;
  }
}

/** The home directory cannot be used. */
export class HomeUnusableError extends HostError {
  override readonly name = 'HomeUnusableError';
  readonly code = 'home_unusable';
  readonly home: string;

  constructor(home: string, why: string, cause: unknown) {
    super(`the home directory ${home} cannot be used: ${why}; give a directory that this user can write to`, {
      cause,
    });
    this.home = home;
  }
}

/** The lock file of a home directory cannot be used, whoever holds the installation. */
export class LockFileUnusableError extends HostError {
  override readonly name = 'LockFileUnusableError';
  readonly code = 'lock_file_unusable';
  readonly file: string;

  constructor(file: string, why: string, cause: unknown) {
    super(
      `the lock file ${file} cannot be used: ${why}; while no backend runs, move it away or make it writable`,
      { cause },
    );
    this.file = file;
  }
}

/** Who holds an installation, as far as it could be read. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** RFC 3339, UTC; null when it is not told. */
  readonly since: string | null;
}

function describeHolder(holder: LockHolder | null): string {
  if (holder === null) return 'another process';
  const since = holder.since === null ? '' : `, since ${holder.since}`;
  return `process ${String(holder.pid)} on ${holder.host}${since}`;
}

/** Another backend acts on this installation (OWNERSHIP-002.4). Nothing shared was read or written. */
export class InstallationLockedError extends HostError {
  override readonly name = 'InstallationLockedError';
  readonly code = 'installation_locked';
  readonly home: string;
  /** Null when the holder has not written its name yet. */
  readonly holder: LockHolder | null;

  constructor(home: string, holder: LockHolder | null) {
    super(
      `the installation ${home} is held by ${describeHolder(holder)}; end that backend first, or use another home`,
    );
    this.home = home;
    this.holder = holder;
  }
}

/** A backend, on this or another machine, holds the shared lock (OWNERSHIP-002.4). Nothing shared was read or written. */
export class SharedLockHeldError extends HostError {
  override readonly name = 'SharedLockHeldError';
  readonly code = 'shared_lock_held';
  /** Where the lock is kept. */
  readonly place: string;
  /** Null when the holder went away meanwhile, or is no host. */
  readonly holder: LockHolder | null;

  constructor(place: string, holder: LockHolder | null) {
    super(`the shared lock in ${place} is held by ${describeHolder(holder)}; end that backend first`);
    this.place = place;
    this.holder = holder;
  }
}

/** Whether another backend holds the shared lock cannot be told. Nothing shared was read or written. */
export class SharedLockUnavailableError extends HostError {
  override readonly name = 'SharedLockUnavailableError';
  readonly code = 'shared_lock_unavailable';
  readonly place: string;

  constructor(place: string, why: string, cause: unknown) {
    super(`the shared lock in ${place} cannot be taken: ${why}`, { cause });
    this.place = place;
  }
}

/** The shared lock was lost, so another backend may act by now: this host acts no more. Agents live on. */
export class SharedLockLostError extends HostError {
  override readonly name = 'SharedLockLostError';
  readonly code = 'shared_lock_lost';
  readonly place: string;

  constructor(place: string, why: string, cause: unknown) {
    super(
      `the shared lock in ${place} was lost: ${why}; this host acts no more, close it and start another`,
      { cause },
    );
    this.place = place;
  }
}

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

/** The session has no live agent, and the call needs one. */
export class SessionNotLiveError extends HostError {
  override readonly name = 'SessionNotLiveError';
  readonly code = 'session_not_live';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(`session ${sessionId} has no running agent; a prompt starts one`);
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

/** Who could not be started, and what is known of why. */
export interface AgentStartFacts extends StartFailure {
  readonly sessionId: string;
  readonly agent: string;
  /** What was done about npm's stale metadata, or why nothing was; null when that was not the matter. */
  readonly repair: RuntimeRepair | null;
  readonly cause: Error;
}

/**
 * The agent could not be started. The session keeps its workspace, and the one way to try again is another prompt: at once where
 * `retryable` is true, otherwise once what `advice` says is done.
 */
export class AgentStartFailedError extends HostError {
  override readonly name = 'AgentStartFailedError';
  readonly code = 'agent_start_failed';
  readonly sessionId: string;
  readonly agent: string;
  readonly phase: AgentStartFacts['phase'];
  readonly stderrClass: AgentStartFacts['stderrClass'];
  readonly advice: string | null;
  readonly retryable: boolean;
  readonly repair: RuntimeRepair | null;

  constructor({ sessionId, agent, cause, repair, ...failure }: AgentStartFacts) {
    super(startFailedMessage({ sessionId, agent, cause, repair, ...failure }), { cause });
    this.sessionId = sessionId;
    this.agent = agent;
    this.phase = failure.phase;
    this.stderrClass = failure.stderrClass;
    this.advice = failure.advice;
    this.retryable = failure.retryable;
    this.repair = repair;
  }
}

function startFailedMessage({ sessionId, agent, cause, advice, repair }: AgentStartFacts): string {
  const said = [cause.message];
  if (repair?.kind === 'refused') said.push(`It was not started again: ${repair.why}.`);
  if (repair?.kind === 'failed') said.push(`npm’s copy of it could not be removed (${repair.code}).`);
  if (advice !== null && !cause.message.includes(advice)) said.push(advice);
  return `agent ${agent} of session ${sessionId} did not start: ${said.join(' ')}`;
}

/** The start of the agent was ended by a stop or a cancel of its session. Another prompt starts one. */
export class AgentStartCancelledError extends HostError {
  override readonly name = 'AgentStartCancelledError';
  readonly code = 'agent_start_cancelled';
  readonly sessionId: string;

  constructor(sessionId: string) {
    super(`session ${sessionId} was stopped or cancelled while its agent started; a prompt starts it anew`);
    this.sessionId = sessionId;
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

/** The host was closed while the call waited. Agents that were kept go on; the next host tells the rest. */
export class HostClosedError extends HostError {
  override readonly name = 'HostClosedError';
  readonly code = 'host_closed';

  constructor() {
    super('the host was closed');
  }
}
