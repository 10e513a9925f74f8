import type { PermissionOption, StopReason, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';

/** Sends one message chunk. */
interface SayStep {
  readonly step: 'say';
  readonly text: string;
}

/** Sends numbered message chunks: `chunk 1/20`, `chunk 2/20` and so on. */
interface ChunksStep {
  readonly step: 'chunks';
  readonly count: number;
  /** Pads the text of each chunk with dots to this many bytes. */
  readonly bytes?: number;
  /** The pause between two chunks. */
  readonly everyMs?: number;
  /** Stands in place of the word `chunk`. */
  readonly text?: string;
}

/** Sends numbered message chunks (`flood 1/100000`) as fast as they are taken, and does not remember them for a load. */
interface FloodStep {
  readonly step: 'flood';
  readonly count: number;
  /** The size of each chunk's text, padded with dots. */
  readonly bytes: number;
}

/** Sends one thought chunk. */
interface ThoughtStep {
  readonly step: 'thought';
  readonly text: string;
}

/** Reports a tool call: `tool_call` with the first status, one `tool_call_update` for each further one. */
interface ToolCallStep {
  readonly step: 'toolCall';
  readonly title: string;
  /** `other` unless told. */
  readonly kind?: ToolKind;
  /** `pending`, `in_progress`, `completed` unless told. */
  readonly statuses?: readonly ToolCallStatus[];
  /** The pause between two statuses. */
  readonly everyMs?: number;
}

/**
 * Asks for permission and says what came back: `permission: <optionId>`, `permission: cancelled` or
 * `permission: error <code>`. A cancelled turn still waits for the answer.
 */
interface PermissionStep {
  readonly step: 'permission';
  readonly title: string;
  /** `allow` (allow once) and `reject` (reject once) unless told. */
  readonly options?: readonly PermissionOption[];
  /** Withdraws the request by `$/cancel_request` after this time; the answer is waited for all the same. */
  readonly withdrawAfterMs?: number;
}

/** Sends a request of any method to the client and says `request: result <json>` or `request: error <code>`. */
interface RequestStep {
  readonly step: 'request';
  readonly method: string;
  readonly params?: unknown;
}

/** Waits. */
interface DelayStep {
  readonly step: 'delay';
  readonly ms: number;
}

/** Waits until a file exists. A relative path is one in the session's working directory. */
interface WaitForStep {
  readonly step: 'waitFor';
  readonly file: string;
}

/** Creates or replaces a file in one step. A relative path is one in the session's working directory. */
interface TouchStep {
  readonly step: 'touch';
  readonly file: string;
  readonly content?: string;
}

/** Does nothing until the turn is cancelled. */
interface SilenceStep {
  readonly step: 'silence';
}

/** Ends the agent process once all output before it was taken: by the signal, or with the exit code (1 unless told). */
interface CrashStep {
  readonly step: 'crash';
  readonly exitCode?: number;
  readonly signal?: NodeJS.Signals;
}

/** Ends the turn with the stop reason `refusal`. */
interface RefuseStep {
  readonly step: 'refuse';
}

/** Answers the prompt with a JSON-RPC error. */
interface FailStep {
  readonly step: 'fail';
  readonly code: number;
  readonly message: string;
}

/** Ends the turn with this stop reason. */
interface EndStep {
  readonly step: 'end';
  readonly stopReason: StopReason;
}

/** Sends one message chunk this long after the prompt was answered. */
interface LateStep {
  readonly step: 'late';
  readonly afterMs: number;
  readonly text: string;
}

/**
 * Goes on by itself after the prompt was answered, as an agent does that wakes up: does these steps outside of any turn, until a
 * cancel or the end of the agent.
 */
interface AfterwardsStep {
  readonly step: 'afterwards';
  /** How long after the answer; 0 unless told. */
  readonly afterMs?: number;
  readonly steps: readonly Step[];
  /** Says that it has ended, or was cancelled, with a `state_update` to `idle`. */
  readonly saysIdle?: boolean;
}

/** Reports how much of the context window is used, in tokens. */
interface UsageStep {
  readonly step: 'usage';
  readonly used: number;
  readonly size: number;
}

/** Writes a line to standard output as it is. */
interface RawLineStep {
  readonly step: 'rawLine';
  readonly line: string;
  /** Pads the line with this many dots. */
  readonly dots?: number;
  /** `false`: without its end, so what follows is on the same line. */
  readonly ended?: boolean;
}

/** Sends a `session/update` with exactly this update, which need not be one that ACP knows. */
interface UnknownUpdateStep {
  readonly step: 'unknownUpdate';
  readonly update: { readonly sessionUpdate: string; readonly [field: string]: unknown };
}

/** Writes to standard error; a line end is added. */
interface StderrStep {
  readonly step: 'stderr';
  readonly text: string;
}

/** Starts a process that outlives the agent unless someone ends it, and says `child: <pid>`. */
interface ChildStep {
  readonly step: 'child';
  readonly command: readonly string[];
  /** In a session and process group of its own, out of reach of signals to the agent's group. */
  readonly ownSession?: boolean;
  /** It writes to the agent's own standard output. */
  readonly ownOutput?: boolean;
}

/** Says `choices: ` and what is chosen for the session, as JSON: `opened` (`new`, `load`, `resume`), `mode`, and what it offers. */
interface ChoicesStep {
  readonly step: 'choices';
}

/** Takes so much memory and keeps it. */
interface MemoryStep {
  readonly step: 'memory';
  readonly bytes: number;
}

/** Closes standard output, and lives on. */
interface CloseOutputStep {
  readonly step: 'closeOutput';
}

/** Closes standard input, and lives on. */
interface CloseInputStep {
  readonly step: 'closeInput';
}

/** Says the value of one of the agent's environment variables: `<name>=<value>`, or `<name> is not set`. */
interface EnvironmentStep {
  readonly step: 'environment';
  readonly name: string;
}

/** From here on, SIGTERM does not end the agent. */
interface IgnoreSigtermStep {
  readonly step: 'ignoreSigterm';
}

/** From here on, `session/cancel` does not end this turn. */
interface IgnoreCancelStep {
  readonly step: 'ignoreCancel';
}

/** One thing the scripted agent does in a turn. */
export type Step =
  | SayStep
  | ChunksStep
  | FloodStep
  | ThoughtStep
  | ToolCallStep
  | PermissionStep
  | RequestStep
  | DelayStep
  | WaitForStep
  | TouchStep
  | SilenceStep
  | CrashStep
  | RefuseStep
  | FailStep
  | EndStep
  | LateStep
  | AfterwardsStep
  | UsageStep
  | RawLineStep
  | UnknownUpdateStep
  | StderrStep
  | ChildStep
  | ChoicesStep
  | MemoryStep
  | CloseOutputStep
  | CloseInputStep
  | EnvironmentStep
  | IgnoreSigtermStep
  | IgnoreCancelStep;

/** The name of a step. */
export type StepName = Step['step'];

/** The step of a name. */
export type StepOf<N extends StepName> = Extract<Step, { readonly step: N }>;
