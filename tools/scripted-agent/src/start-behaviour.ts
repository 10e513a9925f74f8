import { checkFields, type FieldChecks } from './field-checks.ts';

/** How the agent behaves from its start on, for tests of starts that fail. Every field may be left out. */
export interface StartBehaviour {
  /** Ends with this exit code: at once, or when the request named in `exitOn` arrives. */
  readonly exit?: number;
  readonly exitOn?: string;
  /** Written to standard error first; a line end is added. */
  readonly stderr?: string;
  /** Written to standard output as a line of its own first. */
  readonly stdoutLine?: string;
  /** Answers nothing. */
  readonly silent?: boolean;
  /** Waits this long before it reads its first message. */
  readonly delayMs?: number;
  /** Answers `initialize` with this error. */
  readonly initializeError?: { readonly code: number; readonly message: string };
  /** Answers `initialize` with this protocol version instead of 1. */
  readonly protocolVersion?: number;
  /** `false`: offers no `session/load`. */
  readonly loadSession?: boolean;
  /** Offers `session/resume` as well, which replays nothing. */
  readonly resume?: boolean;
  /** Replays a session that is loaded after the answer to that, not before. */
  readonly lateReplay?: boolean;
  /** The code in answer to a session that it does not know; -32002 unless told. */
  readonly unknownSessionCode?: number;
  /** Offers the models `small` and `large`: as a list with `session/set_model`, or as a configuration option of that category. */
  readonly models?: 'list' | 'option';
  /** Offers the configuration options `effort` (`low`, `high`) and `verbose` (on, off). */
  readonly configOptions?: boolean;
  /** Never answers requests of this method. */
  readonly silentOn?: string;
  /** Answers requests of this method twice. */
  readonly twiceOn?: string;
  /** Numbers its own requests with texts instead of numbers. */
  readonly stringIds?: boolean;
  /** Ends its lines with CR LF, and puts a blank line after each. */
  readonly crlf?: boolean;
  /** Writes its lines in pieces of this many bytes. */
  readonly pieceBytes?: number;
  /** Answers `session/new` and `session/load` with this error. */
  readonly sessionError?: { readonly code: number; readonly message: string };
  /** Answers `session/new` and `session/load` with -32000 until `authenticate` was called. */
  readonly authRequired?: boolean;
  /** SIGTERM does not end the agent. */
  readonly ignoreSigterm?: boolean;
  /** The end of standard input does not end the agent. */
  readonly ignoreStdinEnd?: boolean;
}

const CHECKS: FieldChecks<StartBehaviour> = {
  exit: 'count?',
  exitOn: 'text?',
  stderr: 'text?',
  stdoutLine: 'text?',
  silent: 'flag?',
  delayMs: 'count?',
  initializeError: 'object?',
  protocolVersion: 'number?',
  loadSession: 'flag?',
  resume: 'flag?',
  lateReplay: 'flag?',
  unknownSessionCode: 'number?',
  models: 'text?',
  configOptions: 'flag?',
  silentOn: 'text?',
  twiceOn: 'text?',
  stringIds: 'flag?',
  crlf: 'flag?',
  pieceBytes: 'count?',
  sessionError: 'object?',
  authRequired: 'flag?',
  ignoreSigterm: 'flag?',
  ignoreStdinEnd: 'flag?',
};

/** The environment variable that makes the agent start this way. */
export function startBehaviour(behaviour: StartBehaviour): { SCRIPTED_AGENT_START: string } {
  return { SCRIPTED_AGENT_START: JSON.stringify(behaviour) };
}

/** Reads the value of SCRIPTED_AGENT_START. Throws an error that names the field that is wrong. */
export function readStartBehaviour(value: string | undefined): StartBehaviour {
  return checkFields('SCRIPTED_AGENT_START', JSON.parse(value ?? '{}'), CHECKS);
}
