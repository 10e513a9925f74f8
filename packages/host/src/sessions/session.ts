import {
  ControlError,
  type Instance,
  type JsonObject,
  type PermissionRequest,
} from '@holdfast/control-protocol';
import type { SessionRecord, StoredEvent } from '@holdfast/turn-ledger';
import { SessionNotFoundError, TurnInProgressError } from '../host-errors.ts';
import { Turn } from '../turns/turn.ts';
import { assertGone } from '../liveness/admit-launch.ts';
import { sessionLiveness, type SessionLiveness } from '../liveness/session-liveness.ts';
import { dispatchPrompt } from './dispatch-prompt.ts';
import type { HostServices } from './host-services.ts';
import { launchSession, startAgent } from './launch-session.ts';
import type { LiveExecution } from './live-execution.ts';
import { unlessClosed } from './unless-closed.ts';
import { assertOurs, requireLive } from './require-live.ts';
import { sessionEvents } from './session-events.ts';
import { SessionFiles } from './session-files.ts';
import { settleLostAgent } from './settle.ts';

/** Options of a prompt. */
export interface PromptOptions {
  /** The host's own name for this attempt; used when the prompt has to start an agent. */
  readonly runId?: string;
  readonly signal?: AbortSignal;
}

/** An answer to a permission request: one of the offered options, or the word that there will be none. */
export type PermissionDecision = { readonly optionId: string } | { readonly cancelled: true };

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
    const record = await this.#services.ledger.sessions.get(this.id);
    if (record === null) throw new SessionNotFoundError(this.id);
    return record;
  }

  /** The live instance, or null when the session has none. */
  async instance(): Promise<Instance | null> {
    return (await this.#services.live.get(this.id)?.instance()) ?? null;
  }

  /**
   * Whether the session has an agent that runs, looked at afresh: on its control server, or as a process where that cannot be asked.
   * `unknown` where it cannot be told; then a prompt that would have to start an agent is refused with `AgentNotGoneError`.
   */
  async liveness(options: { readonly signal?: AbortSignal } = {}): Promise<SessionLiveness> {
    const signal = unlessClosed(this.#services, options.signal);
    const { liveness, why } = await sessionLiveness(this.#services, this.id, signal);
    return { liveness, why };
  }

  /**
   * Starts a turn with a text or with ACP content blocks, and an agent first where the session has none (with its history
   * where the agent can load it). Resolves as soon as the prompt is accepted. Throws {@link TurnInProgressError},
   * `SessionRecoveringError`, `AgentUnstoppableError`, `AgentNotGoneError`, `AgentStartFailedError`,
   * `PromptUnresolvedError`, `SessionTakenOverError` or, later than the host, the reason of its end.
   */
  async prompt(content: string | readonly JsonObject[], options: PromptOptions = {}): Promise<Turn> {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const signal = unlessClosed(this.#services, options.signal);
    return await this.#services.sessionGuard.hold(
      this.id,
      async () => {
        const record = await this.record();
        const live = await this.#live(record, options.runId ?? null, signal);
        const turnId = await dispatchPrompt(this.#services, live, blocks);
        return new Turn(this.#services.results, turnId, this.id);
      },
      { signal },
    );
  }

  async #live(record: SessionRecord, runId: string | null, signal: AbortSignal): Promise<LiveExecution> {
    assertOurs(this.#services, this.id);
    const live = this.#services.live.get(this.id);
    if (live === undefined) {
      if ((await this.#services.ledger.turns.openTurn(this.id)) !== null)
        throw new TurnInProgressError(this.id);
      return await launchSession(this.#services, record, { runId, signal });
    }
    if (!live.agentRunning) {
      const instance = await live.instance();
      const { executionId } = live.execution;
      const started = await startAgent(
        this.#services,
        record,
        { server: live.server, instance, executionId },
        signal,
      );
      await this.#services.ledger.sessions.setProviderSession(this.id, started.session.providerSessionId);
      live.agentRunning = true;
    }
    return live;
  }

  /** Asks the agent to end its turn; false when none was active. The turn's outcome tells how it ended. */
  async cancel(): Promise<boolean> {
    const live = requireLive(this.#services, this.id);
    const { active } = await live.client.call('getTurn', { instanceId: live.execution.instanceId });
    if (active === null) return false;
    const { cancelling } = await live.client.call('cancel', {
      instanceId: live.execution.instanceId,
      turnId: active.turnId,
    });
    return cancelling;
  }

  /**
   * The session's events after a position (0 for all): those of the ledger, then each as it is stored. Ends when the
   * signal aborts or the host closes. Positions hold across restarts.
   */
  events(
    options: { readonly after?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<StoredEvent> {
    const signal = unlessClosed(this.#services, options.signal);
    return sessionEvents(this.#services, this.id, options.after ?? 0, signal);
  }

  /**
   * Stops the agent and all that it started. The session keeps its workspace and can be prompted again. Throws
   * `AgentNotGoneError` where an agent of it is out of this host's hands; nothing is changed then.
   */
  async stop(): Promise<void> {
    const { sessionGuard, ledger, closed, liveness } = this.#services;
    await sessionGuard.hold(
      this.id,
      async () => {
        assertOurs(this.#services, this.id);
        const live = this.#services.live.get(this.id);
        if (live === undefined) await assertGone(this.#services, this.id, closed);
        else await liveness.whileStopping(this.id, async () => await stopInstance(live));
        await settleLostAgent(this.#services, this.id);
        await ledger.sessions.setState(this.id, 'stopped');
      },
      { signal: closed },
    );
  }
}

/** The permission requests of one session. */
export class SessionPermissions {
  readonly #services: HostServices;
  readonly #sessionId: string;

  constructor(services: HostServices, sessionId: string) {
    this.#services = services;
    this.#sessionId = sessionId;
  }

  /** Those that wait for an answer; none when the session has no live agent. */
  async list(): Promise<readonly PermissionRequest[]> {
    const live = this.#services.live.get(this.#sessionId);
    if (live === undefined) return [];
    return (await live.client.call('listPermissions', { instanceId: live.execution.instanceId })).permissions;
  }

  /**
   * Answers one. Throws {@link SessionNotLiveError} and what the control server refuses: `permission_not_found`,
   * `permission_stale`, `permission_option_not_offered`.
   */
  async answer(requestId: string, decision: PermissionDecision): Promise<void> {
    const live = requireLive(this.#services, this.#sessionId);
    const { instanceId } = live.execution;
    await live.client.call('answerPermission', { instanceId, requestId, ...decision });
  }
}

// Stopping an agent takes its grace and more; the control server bounds it.
const STOP_TIMEOUT_MS = 60_000;

async function stopInstance(live: LiveExecution): Promise<void> {
  await live.release();
  try {
    await live.client.call(
      'deleteInstance',
      { instanceId: live.execution.instanceId },
      { timeoutMs: STOP_TIMEOUT_MS },
    );
  } catch (error) {
    if (!(error instanceof ControlError && error.code === 'instance_not_found')) throw error;
  }
}
