import type {
  ContentBlock,
  SessionChoice,
  StartAgent,
  StartedAgent,
  TurnOutcome,
} from '@holdfast/control-protocol';
import type { z } from 'zod';
import { errorFacts, type Log } from '../diagnostics/log.ts';
import { within, type Clock } from '../ports/clock.ts';
import { AcpConnection } from './acp-connection.ts';
import { outcomeOf } from './acp-mapping.ts';
import { TO_AGENT } from './acp-methods.ts';
import type { AgentListener } from './agent-listener.ts';
import { AgentProcess, type Exit } from './agent-process.ts';
import type { AgentSession } from './agent-session.ts';
import { awaitChoice } from './await-choice.ts';
import { endFamily } from './end-processes.ts';
import { Incoming } from './incoming.ts';
import { watchMemory } from './memory-watch.ts';
import { openSession, type OpenSessionOptions } from './open-session.ts';
import { findFamily, type ProcessFamily } from './process-family.ts';
import type { StderrTail } from './stderr-tail.ts';

/** What it takes to launch an agent. */
export interface AgentOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Where the provider session works. */
  readonly cwd: string;
  /** Where the program is started. */
  readonly programCwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly serverId: string;
  readonly instanceId: string;
  readonly stderr: StderrTail;
  readonly listener: AgentListener;
  /** Time between SIGTERM and SIGKILL, in milliseconds. */
  readonly stopGraceMs: number;
}

/** Why an agent was ended by the server: what it did that cannot go on. */
export interface AgentFault {
  readonly code: 'agent_protocol_error' | 'agent_memory_limit';
  readonly message: string;
}

// One exit is awaited before it is reported; an agent that only closed its output or its input has none.
const EXIT_LIMIT_MS = 1000;
const STDERR_LIMIT_MS = 1000;

/** A running agent: its process, the connection to it and all that it started. */
export class Agent {
  readonly pid: number;
  /** Settles when its output has been read to the end. Never rejects. */
  readonly outputEnd: Promise<void>;
  readonly #options: AgentOptions;
  readonly #process: AgentProcess;
  readonly #connection: AcpConnection;
  readonly #incoming: Incoming;
  readonly #family: ProcessFamily;
  readonly #stopMemoryWatch: () => void;
  #exit: Exit | null = null;
  #fault: AgentFault | null = null;
  readonly #ends: Promise<void>[] = [];

  private constructor(
    options: AgentOptions,
    agentProcess: AgentProcess,
    family: ProcessFamily,
    start: StartAgent,
  ) {
    const { log, instanceId, listener, clock } = options;
    this.pid = agentProcess.pid;
    this.#options = options;
    this.#process = agentProcess;
    this.#family = family;
    this.#connection = new AcpConnection({
      lines: (maxBytes) => agentProcess.lines(maxBytes),
      writeLine: (line) => {
        agentProcess.writeLine(line);
      },
      untaken: () => ({ lines: agentProcess.untakenLines, bytes: agentProcess.untakenBytes }),
    });
    const facts = { listener, log, instanceId, clock, approval: start.approval };
    this.#incoming = new Incoming({ connection: this.#connection, ...facts });
    this.#stopMemoryWatch = this.#watchMemory(start.memoryLimitBytes);
    void agentProcess.exited.then((exit) => {
      this.#exit = exit;
      this.#stopMemoryWatch();
      // What it left running has nobody any more, and may hold its output open.
      if (this.#ends.length === 0) void this.end();
    });
    void agentProcess.inputBroken.then(async () => {
      await this.#inputBroke();
    });
    this.outputEnd = this.#read();
  }

  /** Starts the process; rejects with the system's error when that is impossible. */
  static async launch(options: AgentOptions, start: StartAgent): Promise<Agent> {
    const { clock, programCwd, environment, stderr, serverId, instanceId } = options;
    const agentProcess = await AgentProcess.start({
      command: start.command,
      cwd: programCwd,
      environment,
      stderr,
      clock,
    });
    return new Agent(options, agentProcess, { leader: agentProcess.entry, serverId, instanceId }, start);
  }

  /** Initialises ACP and opens the provider session; see `openSession` for how that fails. */
  async open(start: StartAgent, onPhase: OpenSessionOptions['onPhase']): Promise<StartedAgent> {
    const { listener, cwd } = this.#options;
    const opened = await openSession(this.#connection, start, {
      cwd,
      onPhase,
      replay: this.#incoming.replay,
      onSession: (session) => {
        this.#incoming.session = session;
      },
      listener,
    });
    return { agentPid: this.pid, ...opened };
  }

  /** Sends a prompt; `onOutcome` is called in wire order with what it came to. Without an answer it is never called. */
  prompt(
    content: ReadonlyArray<z.output<typeof ContentBlock>>,
    onOutcome: (outcome: TurnOutcome) => Promise<void>,
  ): void {
    const params = { sessionId: this.#session.id, prompt: content };
    this.#connection.send(TO_AGENT.prompt, params, async (answer) => {
      await onOutcome(outcomeOf(answer));
    });
  }

  /** Asks the agent to end its turn. */
  cancelTurn(): void {
    this.#connection.notify(TO_AGENT.cancel, { sessionId: this.#session.id });
  }

  /**
   * Chooses mode, model or an option of the session; resolves when the agent has confirmed it. Rejects with `AgentRequestError`,
   * `AgentGoneError`, or with `AgentSilentError` after `SESSION_CHANGE_LIMIT_MS`: an answer that stands behind output for which
   * the journal has no room comes too late as well, but its events do not get lost.
   */
  async choose(choice: SessionChoice): Promise<void> {
    await awaitChoice(this.#options.clock, this.#session.choose(choice), this.#process.exited);
  }

  /** How the process ended, if it has. */
  get knownExit(): Exit | null {
    return this.#exit;
  }

  /** Why the server ended it, if it did so on its own account. */
  get fault(): AgentFault | null {
    return this.#fault;
  }

  /** Settles when the process has ended, whoever else holds its output open. Never rejects. */
  get ended(): Promise<Exit> {
    return this.#process.exited;
  }

  /** Waits a little until its stderr has been read to the end, once it has ended. */
  async stderrRead(): Promise<void> {
    await within(this.#options.clock, STDERR_LIMIT_MS, this.#process.stderrEnd);
  }

  /** How the process ended, waiting a little for it; nulls when that is not known. */
  async exit(): Promise<Exit> {
    await within(this.#options.clock, EXIT_LIMIT_MS, this.#process.exited);
    return this.#exit ?? { code: null, signal: null };
  }

  /**
   * Ends the process and all that it started. What it started is listed first, then `beforeSignals` may still talk to it, then
   * its stdin closes and the signals go out. Resolves when every end that was begun is over: one that goes on would take the
   * next agent of the instance for something that this one left. Never rejects.
   */
  async end(beforeSignals?: () => Promise<void>, graceMs = this.#options.stopGraceMs): Promise<void> {
    this.#ends.push(this.#endOnce(beforeSignals, graceMs));
    await Promise.all(this.#ends);
  }

  /** Lets go of the pipes once nothing more is wanted from them. */
  release(): void {
    this.#stopMemoryWatch();
    this.#process.release();
  }

  get #session(): AgentSession {
    const { session } = this.#incoming;
    if (session === null) throw new TypeError('the session of the agent is not open');
    return session;
  }

  async #endOnce(beforeSignals: (() => Promise<void>) | undefined, graceMs: number): Promise<void> {
    const { clock, log, instanceId } = this.#options;
    this.#stopMemoryWatch();
    try {
      // When they cannot be listed now, they are looked for once more when there is less to hold.
      const listed = await findFamily(this.#family).catch(() => []);
      await beforeSignals?.();
      this.#process.closeStdin();
      const left = await endFamily(this.#family, listed, { clock, graceMs });
      if (left.length > 0) {
        log.error({ instanceId, pids: left.map(({ pid }) => pid) }, 'processes of an agent survived SIGKILL');
      }
    } catch (error) {
      // Without a list of processes the agent's own is still known.
      log.error({ instanceId, ...errorFacts(error) }, 'the processes of an agent could not be listed');
      this.#process.kill();
    }
  }

  async #read(): Promise<void> {
    try {
      await this.#connection.read(this.#incoming);
    } catch (error) {
      const message = error instanceof Error ? error.message : 'its output could not be read';
      this.#blame({ code: 'agent_protocol_error', message });
    }
  }

  /** Nothing can be said to it any more: it ends, or it is of no more use. */
  async #inputBroke(): Promise<void> {
    if (await within(this.#options.clock, EXIT_LIMIT_MS, this.#process.exited)) return;
    if (this.#ends.length > 0) return;
    this.#blame({ code: 'agent_protocol_error', message: 'The agent closed its input.' });
    await this.end();
  }

  #watchMemory(limitBytes: number | undefined): () => void {
    const { leader } = this.#family;
    if (limitBytes === undefined || leader === null) return () => undefined;
    return watchMemory({
      clock: this.#options.clock,
      leader,
      limitBytes,
      onOver: (bytes) => {
        const message = `The agent and what it started held ${String(bytes)} bytes of memory; its limit is ${String(limitBytes)}.`;
        this.#blame({ code: 'agent_memory_limit', message });
        // What takes memory that fast is given no time to take more.
        void this.end(undefined, 0);
      },
    });
  }

  #blame(fault: AgentFault): void {
    const { log, instanceId } = this.#options;
    this.#fault ??= fault;
    log.warn({ instanceId, reason: fault.message }, 'an agent was given up');
  }
}
