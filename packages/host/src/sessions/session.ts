import type { ConfigOptionValue, Instance, JsonObject, SessionChoice } from '@holdfast/control-protocol';
import type { Execution } from '@holdfast/recovery';
import type { SessionRecord, StoredEvent } from '@holdfast/turn-ledger';
import { POSITION, assertGiven } from '../check-given.ts';
import { AgentStartCancelledError } from './agent-start-errors.ts';
import type { Turn } from '../turns/turn.ts';
import type { CallSignal } from './call-signal.ts';
import { cancelTurn } from './cancel-turn.ts';
import { sessionLiveness, type SessionLiveness } from '../liveness/session-liveness.ts';
import { checkChoice, choose } from './choose.ts';
import type { HostServices } from './host-services.ts';
import { unlessLost } from './live-error.ts';
import { checkPrompt, type PromptNextOptions } from './check-prompt.ts';
import { SessionPermissions } from './session-permissions.ts';
import type { PendingPrompt } from './pending-prompts.ts';
import { assertOurs, requireLive } from './require-live.ts';
import { promptRuns, recordOf, sendPrompt } from './send-prompt.ts';
import { unlessClosed } from './unless-closed.ts';
import { sessionEvents } from './session-events.ts';
import { SessionFiles } from './session-files.ts';
import { stopSession } from './stop-session.ts';

/** Options of a prompt. */
export interface PromptOptions extends PromptNextOptions {
  /** Cancels the prompt that runs, waits for its end, and takes its place before anybody else can. */
  readonly replace?: boolean;
}

/** One conversation with an agent. The object is a handle: what is true is in the ledger and with the control server. */
export class Session {
  readonly id: string;
  readonly taskId: string;
  readonly permissions: SessionPermissions;
  readonly files: SessionFiles;
  readonly #services: HostServices;

  /** Made by `host.sessions`. */
  constructor(services: HostServices, record: SessionRecord) {
    this.id = record.sessionId;
    this.taskId = record.taskId;
    this.permissions = new SessionPermissions(services, record.sessionId);
    this.files = new SessionFiles(services, record.sessionId);
    this.#services = services;
  }

  /** The session as the ledger has it. */
  async record(): Promise<SessionRecord> {
    return await recordOf(this.#services, this.id);
  }

  /**
   * What the session's agent runs with, or null when it has none: the same after a restart, but for what follows the agent's profile.
   * Its `environment` holds secrets and is not enumerable.
   */
  get execution(): Execution | null {
    return this.#services.live.get(this.id)?.execution ?? null;
  }

  /** The live instance, or null when the session has none. */
  async instance({ signal }: CallSignal = {}): Promise<Instance | null> {
    const live = this.#services.live.get(this.id);
    if (live === undefined) return null;
    const limits = { signal: unlessClosed(this.#services, signal) };
    return await unlessLost(live, null, async () => await live.instance(limits));
  }

  /**
   * Whether the session has an agent that runs, looked at afresh: on its control server, or as a process where that cannot be asked.
   * `unknown` where it cannot be told; then a prompt that would have to start an agent is refused with `AgentNotGoneError`.
   */
  async liveness(options: CallSignal = {}): Promise<SessionLiveness> {
    this.#services.closed.throwIfAborted();
    const signal = unlessClosed(this.#services, options.signal);
    const { liveness, why } = await sessionLiveness(this.#services, this.id, signal);
    return { liveness, why };
  }

  /**
   * Starts a turn with a text or with ACP content blocks, and an agent first where the session has none (with its history
   * where the agent can load it). Resolves as soon as the prompt is accepted. Throws {@link TurnInProgressError},
   * `SessionRecoveringError`, `AgentUnstoppableError`, `AgentNotGoneError`, `AgentStartFailedError`, `AgentStartCancelledError`,
   * `PromptUnresolvedError`, `SessionTakenOverError`, `LedgerUnavailableError` (try again when the ledger is back) or, later than
   * the host, the reason of its end.
   */
  async prompt(content: string | readonly JsonObject[], options: PromptOptions = {}): Promise<Turn> {
    const prompt = this.#pendingPrompt(content, options);
    return await this.#services.sessionGuard.hold(
      this.id,
      async (held) => {
        const live = this.#services.live.get(this.id);
        // Cancel and acceptance under one hold: nobody comes in between (GENERATION-11).
        if (options.replace === true && live !== undefined && promptRuns(this.#services, this.id)) {
          await cancelTurn(this.#services, live, held, prompt.signal);
        }
        return await sendPrompt(this.#services, this.id, prompt, held);
      },
      { signal: prompt.signal },
    );
  }

  /**
   * As {@link Session.prompt}, but while a prompt runs this one waits for its end, however that is, and those asked for before.
   * Resolves when it is accepted. It is kept in memory only: it rejects when the signal aborts, the session's agent is lost or
   * stopped, or the host closes.
   */
  async promptNext(content: string | readonly JsonObject[], options: PromptNextOptions = {}): Promise<Turn> {
    const prompt = this.#pendingPrompt(content, options);
    // Not awaited under the guard, which the end of the running prompt needs.
    const { accepted } = await this.#services.sessionGuard.hold(
      this.id,
      async (held) => ({
        accepted: promptRuns(this.#services, this.id)
          ? this.#services.pending.add(this.id, prompt)
          : Promise.resolve(await sendPrompt(this.#services, this.id, prompt, held)),
      }),
      { signal: prompt.signal },
    );
    return await accepted;
  }

  #pendingPrompt(content: string | readonly JsonObject[], options: PromptNextOptions): PendingPrompt {
    this.#services.closed.throwIfAborted();
    const { signal, ...prompt } = checkPrompt(content, options);
    return { ...prompt, signal: unlessClosed(this.#services, signal) };
  }

  /**
   * Sets the mode of the agent's session, once nothing else is done with the session; the signal ends the wait for that. Resolves when the agent has confirmed it and the ledger has it: whenever an agent is
   * started for the session from then on, by whichever host, it is set again, and a start in which the agent refuses it fails.
   * While no agent runs it is only kept for the next start. Throws {@link ChoiceRefusedError} (the session stays as it was),
   * {@link ChoiceUnresolvedError} (the agent did not say), {@link HostOptionError} or `SessionTakenOverError`.
   */
  async setMode(modeId: string, options: CallSignal = {}): Promise<void> {
    await this.#choose(checkChoice('modeId', modeId, { kind: 'mode', modeId }), options);
  }

  /** Sets the model, as {@link Session.setMode} does the mode. */
  async setModel(modelId: string, options: CallSignal = {}): Promise<void> {
    await this.#choose(checkChoice('modelId', modelId, { kind: 'model', modelId }), options);
  }

  /** Sets one of the options that the agent offers (`session_config` tells of them), as {@link Session.setMode} does the mode. */
  async setConfigOption(optionId: string, value: ConfigOptionValue, options: CallSignal = {}): Promise<void> {
    const choice = { kind: 'config_option', optionId, value } as const;
    await this.#choose(checkChoice('config option', { optionId, value }, choice), options);
  }

  /**
   * Forgets what was set: from its next start on the agent has what its profile says. For a session whose agent does not start
   * because it no longer takes it. What an agent that runs has, it keeps.
   */
  async forgetChoices(options: CallSignal = {}): Promise<void> {
    const { sessionGuard, ledger } = this.#services;
    await sessionGuard.hold(
      this.id,
      async () => {
        assertOurs(this.#services, this.id);
        await ledger.sessions.setChoices(this.id, []);
      },
      { signal: unlessClosed(this.#services, options.signal) },
    );
  }

  async #choose(choice: SessionChoice, options: CallSignal): Promise<void> {
    const { sessionGuard } = this.#services;
    await sessionGuard.hold(
      this.id,
      async () => {
        await choose(this.#services, await this.record(), choice);
      },
      { signal: unlessClosed(this.#services, options.signal) },
    );
  }

  /**
   * Asks the agent to end its turn and waits for that; false when none was active. The turn's outcome tells how it ended. A
   * cancel that is not answered within the host's `cancelLimitMs` ends the turn all the same, as `cancelled` with the reason
   * `cancel_unanswered`, and its agent is stopped if it can be reached; the next prompt starts another. An agent that is
   * being started is started no further: who waits for it gets {@link AgentStartCancelledError}. Does not wait for
   * `onTurnComplete`.
   */
  async cancel(options: CallSignal = {}): Promise<boolean> {
    if (this.#services.starts.cancel(this.id, new AgentStartCancelledError(this.id))) return true;
    requireLive(this.#services, this.id);
    const signal = unlessClosed(this.#services, options.signal);
    return await this.#services.sessionGuard.hold(
      this.id,
      async (held) => await cancelTurn(this.#services, requireLive(this.#services, this.id), held, signal),
      { signal, joinsLent: true },
    );
  }

  /**
   * The session's events after a position (0 for all): those of the ledger, then each as it is stored. Ends when the
   * signal aborts or the host closes. Positions hold across restarts. They are what the control server told: a turn that ends
   * without it, because its agent was lost or stopped, has no `turn_ended`, and `turn.outcome` tells of it.
   */
  events(
    options: { readonly after?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<StoredEvent> {
    const { after = 0, signal } = options;
    assertGiven('after', after, POSITION);
    return sessionEvents(this.#services, this.id, after, unlessClosed(this.#services, signal));
  }

  /**
   * Stops the agent and all that it started, also one that is being started. An open turn ends as `cancelled` with the reason
   * `agent_stopped`; the task stays as it is. The session keeps its workspace and can be prompted again. Throws `AgentNotGoneError`
   * where an agent of it is out of this host's hands, and what the control server answers where it could not stop it: try again.
   * Does not wait for `onTurnComplete`. The signal ends the wait for other calls of the session; a stop that has begun goes on.
   */
  async stop(options: CallSignal = {}): Promise<void> {
    const { sessionGuard, live, starts } = this.#services;
    const signal = unlessClosed(this.#services, options.signal);
    signal.throwIfAborted();
    const announced = live.get(this.id);
    announced?.announceStop();
    starts.cancel(this.id, new AgentStartCancelledError(this.id));
    try {
      await sessionGuard.hold(
        this.id,
        async () => {
          await stopSession(this.#services, this.id);
        },
        { signal, joinsLent: true },
      );
    } catch (error) {
      announced?.stopGivenUp();
      throw error;
    }
  }
}
