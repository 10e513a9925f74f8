import {
  ControlError,
  type PermissionAnswer,
  type PermissionCancelReason,
  type PermissionRequest,
} from '@holdfast/control-protocol';
import { JournalStoppedError, PublishWithdrawnError, type Journal } from '../journal/journal.ts';
import { publishUnlessStopped } from '../journal/publish-unless-stopped.ts';
import type { Clock } from '../ports/clock.ts';
import { EMPTY_DESK, judgeAnswer, reduceDesk, type PermissionDesk } from './permission-desk.ts';

/** A question as it came from the agent. `reply` sends the answer back; it is called exactly once. */
export interface AskedPermission extends Omit<PermissionRequest, 'requestId' | 'requestedAt'> {
  readonly reply: (answer: PermissionAnswer) => void;
}

/** How long an announcement may find no room while a backend is attached (CONTRACT-14). */
const ANNOUNCEMENT_LIMIT_MS = 5000;

/** The permission request whose announcement waits for room. There is one at most: the agent is not read meanwhile. */
interface Announcement {
  readonly requestId: string;
  readonly withdraw: (reason: PermissionCancelReason) => void;
  readonly restartLimit: () => void;
}

/** The permission desk of one instance at work. A request stays open until it is answered or closed, however long. */
export class Permissions {
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #nextRequestId: () => string;
  readonly #replies = new Map<string, (answer: PermissionAnswer) => void>();
  #desk: PermissionDesk = EMPTY_DESK;
  #announcement: Announcement | null = null;

  constructor(options: {
    readonly clock: Clock;
    readonly journal: Journal;
    readonly nextRequestId: () => string;
  }) {
    this.#clock = options.clock;
    this.#journal = options.journal;
    this.#nextRequestId = options.nextRequestId;
  }

  /** The open requests, oldest first. */
  list(): PermissionRequest[] {
    return [...this.#desk.open];
  }

  /**
   * Opens a request under `requestId` and announces it; resolves when the announcement is in the journal, or was given up
   * and the cancellation is there instead.
   */
  async ask(asked: AskedPermission, onOpened: (requestId: string) => void): Promise<void> {
    const { reply, ...question } = asked;
    const requestId = this.#nextRequestId();
    const permission = { requestId, requestedAt: this.#clock.wall().toISOString(), ...question };
    this.#desk = reduceDesk(this.#desk, { type: 'asked', permission });
    this.#replies.set(requestId, reply);
    onOpened(requestId);
    const withdrawn = await this.#announce(permission);
    if (withdrawn === null) return;
    this.#close(requestId, { cancelled: true });
    await publishUnlessStopped(this.#journal, { type: 'permission_cancelled', requestId, reason: withdrawn });
  }

  /** Gives the backend's answer to the agent, or throws a `ControlError`. */
  answer(requestId: string, answer: PermissionAnswer): void {
    const judgement = judgeAnswer(this.#desk, requestId, answer);
    if (judgement.kind === 'refused') throw answerError(judgement.code, requestId);
    this.#close(requestId, answer);
  }

  /** Answers one open request with "cancelled" and publishes why; resolves when that is in the journal. */
  async cancel(requestId: string, reason: PermissionCancelReason): Promise<void> {
    if (!this.#close(requestId, { cancelled: true })) return;
    if (this.#announcement?.requestId === requestId) this.#announcement.withdraw(reason);
    else await publishUnlessStopped(this.#journal, { type: 'permission_cancelled', requestId, reason });
  }

  /** Answers all open requests with "cancelled", at once; resolves when the journal has all of it. */
  async cancelAll(reason: PermissionCancelReason): Promise<void> {
    await Promise.all(
      this.#desk.open.map(async ({ requestId }) => {
        await this.cancel(requestId, reason);
      }),
    );
  }

  /** A backend has come or gone: the limit of an announcement runs only while one is there, and from its coming. */
  attachmentChanged(): void {
    this.#announcement?.restartLimit();
  }

  /** Gives why the announcement was given up, or null. */
  async #announce(permission: PermissionRequest): Promise<PermissionCancelReason | null> {
    const giveUp = new AbortController();
    let reason: PermissionCancelReason = 'announcement_timeout';
    let cancelLimit = noLimit;
    const announcement: Announcement = {
      requestId: permission.requestId,
      withdraw: (why) => {
        reason = why;
        giveUp.abort();
      },
      restartLimit: () => {
        cancelLimit();
        cancelLimit = this.#journal.attached
          ? this.#clock.setTimer(ANNOUNCEMENT_LIMIT_MS, () => {
              giveUp.abort();
            })
          : noLimit;
      },
    };
    this.#announcement = announcement;
    announcement.restartLimit();
    try {
      await this.#journal.publish({ type: 'permission_requested', permission }, { signal: giveUp.signal });
      return null;
    } catch (error) {
      if (error instanceof PublishWithdrawnError) return reason;
      if (!(error instanceof JournalStoppedError)) throw error;
      this.#close(permission.requestId, { cancelled: true });
      return null;
    } finally {
      cancelLimit();
      this.#announcement = null;
    }
  }

  /** Replies and forgets; false when the request was not open. */
  #close(requestId: string, answer: PermissionAnswer): boolean {
    const reply = this.#replies.get(requestId);
    if (reply === undefined) return false;
    this.#replies.delete(requestId);
    this.#desk = reduceDesk(this.#desk, { type: 'closed', requestId });
    reply(answer);
    return true;
  }
}

function noLimit(): void {
  // While nobody is attached there is none.
}

const ANSWER_ERRORS = {
  permission_not_found: (id: string) => `There is no permission request ${id}; read the list of open ones.`,
  permission_stale: (id: string) => `Permission request ${id} is closed; nothing was changed.`,
  permission_option_not_offered: (id: string) =>
    `Permission request ${id} does not offer this option; answer with one of its optionIds.`,
} as const;

function answerError(code: keyof typeof ANSWER_ERRORS, requestId: string): ControlError {
  return new ControlError(code, ANSWER_ERRORS[code](requestId));
}
