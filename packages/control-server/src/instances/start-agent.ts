import type { StartAgent, StartedAgent } from '@holdfast/control-protocol';
import { AgentGoneError } from '../agent/acp-connection.ts';
import type { Exit } from '../agent/agent-process.ts';
import { Agent, type AgentOptions } from '../agent/agent.ts';
import { pause, type Clock } from '../ports/clock.ts';
import {
  AgentFaultError,
  StartAbortedError,
  StartTimeoutError,
  startFailure,
  type StartPhase,
} from './start-failure.ts';

/** How long an agent has to answer `initialize`, and how long to open its session: heavy agents take seconds of CPU. */
export interface StartBudgets {
  readonly initializeMs: number;
  readonly sessionMs: number;
}

export const START_BUDGETS: StartBudgets = { initializeMs: 300_000, sessionMs: 300_000 };

/** An agent that is ready for prompts. */
export interface ReadyAgent {
  readonly agent: Agent;
  readonly started: StartedAgent;
}

/**
 * One attempt to start an agent. When it fails, or the signal aborts, all of the child is gone before it rejects with the
 * `ControlError` to answer.
 */
export async function attemptStart(
  options: AgentOptions,
  start: StartAgent,
  limits: { readonly budgets: StartBudgets; readonly signal: AbortSignal },
): Promise<ReadyAgent> {
  let phase: StartPhase = 'spawn';
  let agent: Agent | null = null;
  const over = new AbortController();
  const deadline = new PhaseDeadline(options.clock, limits.signal);
  try {
    agent = await Agent.launch(options, start);
    deadline.restart(start.startBudgetMs ?? limits.budgets.initializeMs);
    const opening = agent.open(start, (next) => {
      phase = next;
      // A budget of the agent's own covers its whole start.
      if (next === 'session' && start.startBudgetMs === undefined) deadline.restart(limits.budgets.sessionMs);
    });
    const started = await Promise.race([
      opening,
      deadline.passed,
      blamed(agent),
      lostProcess(agent, options.clock, over.signal),
    ]);
    return { agent, started };
  } catch (error) {
    const exit = agent === null ? null : await endFailed(agent, error);
    const fault = agent?.fault ?? null;
    throw startFailure(fault === null ? error : new AgentFaultError(fault), phase, exit);
  } finally {
    over.abort();
    deadline.cancel();
  }
}

/** Ends what is left of a failed start; gives how the process had ended by itself, if it had. */
async function endFailed(agent: Agent, error: unknown): Promise<Exit | null> {
  const exit = error instanceof AgentGoneError ? await agent.exit() : agent.knownExit;
  await agent.end();
  await agent.stderrRead();
  agent.release();
  return exit;
}

/** Rejects when the agent is given up; an output that merely ends fails the request that waits for it. */
async function blamed(agent: Agent): Promise<never> {
  await agent.outputEnd;
  if (agent.fault !== null) throw new AgentFaultError(agent.fault);
  return await new Promise<never>(() => undefined);
}

// Longer than the silence after which the output of an agent that has ended counts as read.
const OUTPUT_AFTER_EXIT_MS = 2000;

/** Rejects when the process has ended and its output has not: what it left running talks on, and that is no agent. */
async function lostProcess(agent: Agent, clock: Clock, over: AbortSignal): Promise<never> {
  await agent.ended;
  await pause(clock, OUTPUT_AFTER_EXIT_MS, over);
  throw new AgentGoneError('its start');
}

/** Rejects when the phase takes too long or the start is to be given up. */
class PhaseDeadline {
  readonly passed: Promise<never>;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #reject: (error: Error) => void;
  #cancelTimer = (): void => undefined;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    const { promise, reject } = Promise.withResolvers<never>();
    this.passed = promise;
    this.#reject = reject;
    promise.catch(() => undefined);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  restart(limitMs: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.setTimer(limitMs, () => {
      this.#reject(new StartTimeoutError(limitMs));
    });
  }

  cancel(): void {
    this.#cancelTimer();
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    this.#reject(new StartAbortedError());
  };
}
