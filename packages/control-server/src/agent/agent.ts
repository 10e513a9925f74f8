import type { ContentBlock, StartAgent, StartedAgent, TurnOutcome } from '@holdfast/control-protocol';
import type { z } from 'zod';
import { errorFacts, type Log } from '../diagnostics/log.ts';
import { allowingOption } from '../permissions/permission-desk.ts';
import type { AskedPermission } from '../permissions/permissions.ts';
import { within, type Clock } from '../ports/clock.ts';
import { AcpConnection, type AgentInbox } from './acp-connection.ts';
import { outcomeOf, permissionResult, readPermission, updateEvents } from './acp-mapping.ts';
import { isJsonObject, type RpcAnswer, type RpcId } from './acp-message.ts';
import { FROM_AGENT, TO_AGENT } from './acp-methods.ts';
import type { AgentListener } from './agent-listener.ts';
import { AgentProcess, type Exit } from './agent-process.ts';
import { endFamily, findFamily, type ProcessFamily } from './end-processes.ts';
import { answerFileRequest, isFileRequest } from './file-requests.ts';
import { openSession, type OpenSessionOptions } from './open-session.ts';
import { findProcess } from './process-table.ts';
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

/** How an agent's output ended: with its end, or because a line was too long. */
export type OutputEnd = { readonly kind: 'ended' } | { readonly kind: 'broken'; readonly message: string };

// One exit is awaited before it is reported; an agent that only closed its output has none.
const EXIT_LIMIT_MS = 1000;
const STDERR_LIMIT_MS = 1000;

/** A running agent: its process, the connection to it and all that it started. */
export class Agent {
  readonly pid: number;
  /** Settles when its output has been read to the end. Never rejects. */
  readonly outputEnd: Promise<OutputEnd>;
  readonly #options: AgentOptions;
  readonly #process: AgentProcess;
  readonly #connection: AcpConnection;
  readonly #family: ProcessFamily;
  readonly #approval: StartAgent['approval'];
  readonly #permissions = new Map<RpcId, string>();
  #sessionId = '';
  #replaying = false;
  #noiseLines = 0;
  #exit: Exit | null = null;

  private constructor(
    options: AgentOptions,
    agentProcess: AgentProcess,
    family: ProcessFamily,
    approval: StartAgent['approval'],
  ) {
    this.pid = agentProcess.pid;
    this.#options = options;
    this.#process = agentProcess;
    this.#family = family;
    this.#approval = approval;
    this.#connection = new AcpConnection({
      lines: (maxBytes) => agentProcess.lines(maxBytes),
      writeLine: (line) => {
        agentProcess.writeLine(line);
      },
      untakenBytes: () => agentProcess.untakenBytes,
    });
    void agentProcess.exited.then((exit) => {
      this.#exit = exit;
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
    const leader = (await findProcess(agentProcess.pid)) ?? null;
    return new Agent(options, agentProcess, { leader, serverId, instanceId }, start.approval);
  }

  /** Initialises ACP and opens the provider session; see `openSession` for how that fails. */
  async open(start: StartAgent, onPhase: OpenSessionOptions['onPhase']): Promise<StartedAgent> {
    const { listener } = this.#options;
    const opened = await openSession(this.#connection, start, {
      cwd: this.#options.cwd,
      onPhase,
      onReplay: (replaying) => {
        this.#replaying = replaying;
      },
      listener,
    });
    this.#sessionId = opened.session.providerSessionId;
    return { agentPid: this.pid, ...opened };
  }

  /** Sends a prompt; `onOutcome` is called in wire order with what it came to. Without an answer it is never called. */
  prompt(
    content: ReadonlyArray<z.output<typeof ContentBlock>>,
    onOutcome: (outcome: TurnOutcome) => Promise<void>,
  ): void {
    const params = { sessionId: this.#sessionId, prompt: content };
    this.#connection.send(TO_AGENT.prompt, params, async (answer: RpcAnswer) => {
      await onOutcome(outcomeOf(answer));
    });
  }

  /** Asks the agent to end its turn. */
  cancelTurn(): void {
    this.#connection.notify(TO_AGENT.cancel, { sessionId: this.#sessionId });
  }

  /** How the process ended, if it has. */
  get knownExit(): Exit | null {
    return this.#exit;
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
   * its stdin closes and the signals go out. Never rejects.
   */
  async end(beforeSignals?: () => Promise<void>): Promise<void> {
    const { clock, stopGraceMs, log, instanceId } = this.#options;
    try {
      const listed = await findFamily(this.#family);
      await beforeSignals?.();
      this.#process.closeStdin();
      const left = await endFamily(this.#family, listed, { clock, graceMs: stopGraceMs });
      if (left.length > 0) {
        log.error({ instanceId, pids: left.map(({ pid }) => pid) }, 'processes of an agent survived SIGKILL');
      }
    } catch (error) {
      // Without a list of processes the agent's own is still known.
      log.error({ instanceId, ...errorFacts(error) }, 'the processes of an agent could not be listed');
      this.#process.kill();
    }
  }

  /** Lets go of the pipes once nothing more is wanted from them. */
  release(): void {
    this.#process.release();
  }

  async #read(): Promise<OutputEnd> {
    const { log, instanceId } = this.#options;
    const inbox: AgentInbox = {
      onNotification: async (method, params) => {
        await this.#notified(method, params);
      },
      onRequest: async (id, method, params) => {
        await this.#asked(id, method, params);
      },
      onNoise: (bytes) => {
        this.#noise(bytes);
      },
    };
    try {
      await this.#connection.read(inbox);
      return { kind: 'ended' };
    } catch (error) {
      const message = error instanceof Error ? error.message : 'its output could not be read';
      log.warn({ instanceId, reason: message }, 'the output of an agent was given up');
      return { kind: 'broken', message };
    }
  }

  async #notified(method: string, params: unknown): Promise<void> {
    const { listener } = this.#options;
    if (method === FROM_AGENT.update && isJsonObject(params) && isJsonObject(params['update'])) {
      // What an agent replays while it loads a session is history, not new output.
      if (this.#replaying) return;
      for (const event of updateEvents(params['update'])) await listener.publish(event);
      return;
    }
    if (method === FROM_AGENT.cancelRequest && isJsonObject(params)) {
      const { requestId } = params;
      const open =
        typeof requestId === 'string' || typeof requestId === 'number'
          ? this.#permissions.get(requestId)
          : undefined;
      if (open !== undefined) await listener.permissionWithdrawn(open);
      return;
    }
    this.#noise(method.length);
  }

  async #asked(id: RpcId, method: string, params: unknown): Promise<void> {
    if (isFileRequest(method)) {
      this.#connection.answer(id, await answerFileRequest(this.#options.listener.files, method, params));
      return;
    }
    if (method !== FROM_AGENT.requestPermission) {
      this.#connection.refuseMethod(id, method);
      return;
    }
    const asked = readPermission(params);
    if (asked === undefined) {
      this.#connection.refuseParams(id, 'A permission request needs a toolCall and a list of options.');
      return;
    }
    const allowing = this.#approval === 'allow' ? allowingOption(asked.options) : undefined;
    if (allowing !== undefined) {
      this.#connection.respond(id, permissionResult({ optionId: allowing.optionId }));
      return;
    }
    const reply: AskedPermission['reply'] = (answer) => {
      this.#permissions.delete(id);
      this.#connection.respond(id, permissionResult(answer));
    };
    await this.#options.listener.permissionAsked({ ...asked, reply }, (requestId) => {
      this.#permissions.set(id, requestId);
    });
  }

  #noise(bytes: number): void {
    this.#noiseLines += 1;
    // Enough to see that it happens; never what it says, which may be anything.
    if (Number.isInteger(Math.log10(this.#noiseLines))) {
      const { log, instanceId } = this.#options;
      log.info(
        { instanceId, lines: this.#noiseLines, bytes },
        'an agent sends lines that are no messages for us',
      );
    }
  }
}
