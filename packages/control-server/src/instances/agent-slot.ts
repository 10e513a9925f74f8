import {
  ControlError,
  type InstanceStatus,
  type RepairedRuntime,
  type StartAgent,
  type StartedAgent,
} from '@holdfast/control-protocol';
import type { AgentListener } from '../agent/agent-listener.ts';
import type { Exit } from '../agent/agent-process.ts';
import type { Agent, AgentFault } from '../agent/agent.ts';
import { StderrTail } from '../agent/stderr-tail.ts';
import { within } from '../ports/clock.ts';
import { AttemptGate } from './attempt-gate.ts';
import { environmentOf, launchAgent, type AgentOwner } from './launch-agent.ts';
import { StartAbortedError } from './start-failure.ts';

/** What the place of an agent needs from its instance. */
export interface AgentSlotOptions extends AgentOwner {
  readonly listener: AgentListener;
  /** The agent is about to be stopped: its turn should end in its own words, if it finds some soon. */
  readonly onStopping: () => Promise<void>;
  /** The agent has ended and all it said has been taken. */
  readonly onEnded: (ended: EndedAgent) => void;
}

/** How an agent came to its end. */
export interface EndedAgent extends Exit {
  readonly expected: boolean;
  /** Its last lines on stderr. */
  readonly stderr: string[];
  /** Why the server ended it on its own account, or null when it did not. */
  readonly fault: AgentFault | null;
}

type AgentState =
  | { readonly kind: 'none'; readonly status: 'idle' | 'failed' }
  | { readonly kind: 'starting'; readonly abort: AbortController; readonly over: Promise<unknown> }
  /** No agent, and none is started meanwhile. */
  | { readonly kind: 'repairing'; readonly abort: AbortController; readonly over: Promise<unknown> }
  | { readonly kind: 'ready'; readonly agent: Agent }
  | { readonly kind: 'ending'; readonly agent: Agent; readonly end: AgentEnd };

/** An end under way: `gone` when no process is left, `over` when its output has been taken as well. */
interface AgentEnd {
  readonly expected: boolean;
  readonly gone: Promise<unknown>;
  readonly over: Promise<void>;
}

// An agent's last output is awaited this long before a stop is answered; with a full journal it comes later.
const LAST_OUTPUT_MS = 2000;
// What a crashed agent left is gone this long after the grace, unless its output waits for room in the journal.
const CLEARING_LIMIT_MS = 10_000;
const EXIT_STDERR_LINES = 20;
const UNKNOWN_EXIT: Exit = { code: null, signal: null };

/** The place of an instance's agent: empty, starting, taken or being cleared. One agent at a time. */
export class AgentSlot {
  readonly #options: AgentSlotOptions;
  #state: AgentState = { kind: 'none', status: 'idle' };
  #stderr = new StderrTail();
  readonly #gate: AttemptGate;
  #isClosed = false;

  constructor(options: AgentSlotOptions) {
    this.#options = options;
    this.#gate = new AttemptGate(options.listener);
  }

  /** What the agent is, seen from outside; `ready` says nothing about turns. */
  get status(): Exclude<InstanceStatus, 'running'> {
    switch (this.#state.kind) {
      case 'none':
        return this.#state.status;
      case 'repairing':
        return 'idle';
      case 'starting':
        return 'starting';
      case 'ready':
        return 'ready';
      case 'ending':
        return this.#state.end.expected ? 'stopping' : 'failed';
    }
  }

  get pid(): number | null {
    return 'agent' in this.#state ? this.#state.agent.pid : null;
  }

  /** The last lines of the stderr of the agent that runs or ran last. */
  readStderr(): ReturnType<StderrTail['read']> {
    return this.#stderr.read();
  }

  /** The agent that takes prompts, or the `ControlError` that says there is none. */
  ready(): Agent {
    if (this.#state.kind !== 'ready') throw this.#notRunning();
    return this.#state.agent;
  }

  /** Starts an agent; resolves when it is ready for prompts. A failed start leaves the place empty. */
  async start(start: StartAgent): Promise<StartedAgent> {
    await this.#untilCleared();
    if (this.#isClosed) {
      throw new ControlError('instance_not_found', `Instance ${this.#options.instanceId} is being stopped.`);
    }
    this.#refuseWhenTaken();
    this.#stderr = new StderrTail();
    const abort = new AbortController();
    const attempt = launchAgent(this.#options, start, {
      stderr: this.#stderr,
      listener: this.#gate.open(),
      signal: abort.signal,
    });
    this.#state = { kind: 'starting', abort, over: attempt.catch(() => undefined) };
    try {
      const { agent, started } = await attempt;
      this.#state = { kind: 'ready', agent };
      void agent.outputEnd.then(() => {
        if (this.#state.kind === 'ready' && this.#state.agent === agent)
          this.#beginEnd(agent, this.#crash(agent));
      });
      return started;
    } catch (error) {
      this.#gate.close();
      this.#state = { kind: 'none', status: 'idle' };
      throw error;
    }
  }

  /** Removes npm's installed copy of a package, in the place of the agent: while that goes on no agent is started. */
  async repairRuntime(packageSpec: string): Promise<RepairedRuntime> {
    this.#refuseWhenTaken();
    const { npmRuntimes } = this.#options.surroundings;
    const { instanceId } = this.#options;
    const abort = new AbortController();
    const environment = environmentOf(this.#options);
    const repair = npmRuntimes.repair({ instanceId, packageSpec, environment, signal: abort.signal });
    const before = this.#state;
    this.#state = { kind: 'repairing', abort, over: repair.catch(() => undefined) };
    try {
      return await repair;
    } catch (error) {
      if (!abort.signal.aborted) throw error;
      throw new ControlError(
        'agent_not_running',
        `The repair of the runtime of instance ${instanceId} was given up: its agent was stopped meanwhile.`,
      );
    } finally {
      this.#state = before;
    }
  }

  /** Stops the agent and all it started; resolves with how it ended once no process is left. */
  async stop(): Promise<Exit> {
    const wasEmpty = this.#state.kind === 'none';
    await this.#giveUp();
    if (wasEmpty) throw this.#notRunning();
    if (this.#state.kind === 'ready') this.#beginEnd(this.#state.agent, this.#stopInOrder(this.#state.agent));
    if (this.#state.kind !== 'ending') return UNKNOWN_EXIT;
    const { agent, end } = this.#state;
    await end.gone;
    await within(this.#options.surroundings.clock, LAST_OUTPUT_MS, end.over);
    return await agent.exit();
  }

  /**
   * Clears the place for good. `releaseProducers` is called once the agent's processes are listed, so that an agent that waits
   * for room in the journal does not hold up its own end.
   */
  async clear(releaseProducers: () => void): Promise<void> {
    this.#isClosed = true;
    if (this.#state.kind === 'starting') releaseProducers();
    await this.#giveUp();
    const state = this.#state;
    if (state.kind === 'ready') this.#beginEnd(state.agent, this.#stopInOrder(state.agent, releaseProducers));
    else releaseProducers();
    if (this.#state.kind === 'ending') await this.#state.end.over;
  }

  /** The end of an agent that ended by itself is told before what it left is gone; who starts another then waits for that. */
  async #untilCleared(): Promise<void> {
    if (this.#state.kind !== 'ending' || this.#state.end.expected) return;
    const { clock, stopGraceMs } = this.#options.surroundings;
    await within(clock, stopGraceMs + CLEARING_LIMIT_MS, this.#state.end.over);
  }

  /** Ends a start or a repair that is under way. */
  async #giveUp(): Promise<void> {
    if (!('abort' in this.#state)) return;
    this.#state.abort.abort(new StartAbortedError());
    await this.#state.over;
  }

  #refuseWhenTaken(): void {
    if (this.#state.kind === 'none') return;
    const why =
      this.#state.kind === 'repairing'
        ? 'repairs the runtime of its agent; wait for that'
        : `has an agent (${this.status}); stop it first`;
    throw new ControlError('agent_already_running', `Instance ${this.#options.instanceId} ${why}.`);
  }

  #beginEnd(agent: Agent, end: AgentEnd): void {
    this.#state = { kind: 'ending', agent, end };
  }

  /** An end that was asked for: first the processes go, then what they wrote is taken to the end. */
  #stopInOrder(agent: Agent, releaseProducers = (): void => undefined): AgentEnd {
    const gone = agent.end(async () => {
      releaseProducers();
      await this.#options.onStopping();
    });
    const over = (async () => {
      await gone;
      await agent.outputEnd;
      await this.#settle(agent, await agent.exit(), true);
      this.#empty(agent, 'idle');
    })();
    return { expected: true, gone, over };
  }

  /** An end that nobody asked for: its outcome is known first, then what the agent left running goes. */
  #crash(agent: Agent): AgentEnd {
    const over = (async () => {
      let exit = await agent.exit();
      if (agent.knownExit === null) {
        // It closed its output but lives on, or wrote what cannot be read: it is of no more use.
        await agent.end();
        exit = await agent.exit();
      }
      await this.#settle(agent, exit, false);
      await agent.end();
      this.#empty(agent, 'failed');
    })();
    return { expected: false, gone: over, over };
  }

  /** Hands the end on, in the order in which it belongs into the journal; does not wait for room there. */
  async #settle(agent: Agent, exit: Exit, expected: boolean): Promise<void> {
    const { surroundings, instanceId, onEnded } = this.#options;
    await agent.outputEnd;
    const stderr = this.#stderr.read().lines.slice(-EXIT_STDERR_LINES);
    onEnded({ ...exit, expected, stderr, fault: agent.fault });
    surroundings.log.info({ instanceId, ...exit, expected }, 'an agent has ended');
  }

  #empty(agent: Agent, status: 'idle' | 'failed'): void {
    agent.release();
    this.#options.surroundings.npmRuntimes.left(this.#options.instanceId);
    this.#state = { kind: 'none', status };
  }

  #notRunning(): ControlError {
    return new ControlError(
      'agent_not_running',
      `Instance ${this.#options.instanceId} has no running agent (${this.status}); start one.`,
    );
  }
}
