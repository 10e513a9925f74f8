import type { ControlClient } from '@holdfast/control-protocol/client';
import type { OwnershipContext } from './context.ts';
import { messageOf } from '../events/message-of.ts';

/** What is renewed, and who hears of it. */
export interface RenewalOptions extends Pick<OwnershipContext, 'clock' | 'random' | 'settings'> {
  /** Whoever hears from it that ownership is lost stops the renewal. */
  readonly client: ControlClient;
  /** The unowned period in force. */
  readonly periodMs: number;
  readonly onFailure: (detail: string) => void;
}

/** Ownership being renewed. */
export interface Renewal {
  /** Stops it; an attempt under way is given up. */
  stop(): Promise<void>;
}

/** The pause between two renewals: a quarter of the period, a tenth more or less, always below a third (OWNERSHIP-003.2). */
export function renewalPauseMs(periodMs: number, random: (byteCount: number) => Uint8Array): number {
  const fraction = (random(1)[0] ?? 0) / 255;
  return (periodMs / 4) * (0.9 + 0.2 * fraction);
}

/**
 * Claims ownership again and again, one attempt at a time, each bounded by the read timeout and counted from its start. Failures
 * wait for the next tick (OWNERSHIP-003.2). A timer that fires late, because the process slept or was busy, claims at once, and the
 * next pause is counted from there.
 */
export function startRenewal(options: RenewalOptions): Renewal {
  const { client, clock, random, settings, periodMs, onFailure } = options;
  const stopped = new AbortController();
  let cancelTimer: () => void;
  let attempt = Promise.resolve();

  const scheduleAfter = (startedAt: number): void => {
    if (stopped.signal.aborted) return;
    const dueAt = startedAt + renewalPauseMs(periodMs, random);
    cancelTimer = clock.inBackground(Math.max(0, dueAt - clock.now()), () => {
      attempt = claim();
    });
  };

  const claim = async (): Promise<void> => {
    const startedAt = clock.now();
    try {
      await client.call('claim', {}, { timeoutMs: settings.recoveryReadTimeoutMs, signal: stopped.signal });
    } catch (error) {
      if (stopped.signal.aborted) return;
      onFailure(messageOf(error));
    }
    scheduleAfter(startedAt);
  };

  scheduleAfter(clock.now());
  return {
    async stop() {
      stopped.abort();
      cancelTimer();
      await attempt;
    },
  };
}
