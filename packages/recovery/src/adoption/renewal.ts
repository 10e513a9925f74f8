import { ControlError } from '@holdfast/control-protocol';
import { NoAnswerError, UnreadableAnswerError, type ControlClient } from '@holdfast/control-protocol/client';
import type { OwnershipContext } from './context.ts';

/** What is renewed, and who hears of it. */
export interface RenewalOptions extends Pick<OwnershipContext, 'clock' | 'random' | 'settings'> {
  readonly client: ControlClient;
  /** The unowned period in force. */
  readonly periodMs: number;
  /** Called once; renewal has stopped by then. */
  readonly onLost: (answer: 'credential_superseded' | 'credential_unknown') => void;
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
 * wait for the next tick; a lost credential ends it (OWNERSHIP-002.3, 003.2).
 */
export function startRenewal(options: RenewalOptions): Renewal {
  const { client, clock, random, settings, periodMs, onLost, onFailure } = options;
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
      if (error instanceof ControlError && isLoss(error.code)) {
        stopped.abort();
        onLost(error.code);
        return;
      }
      onFailure(describe(error));
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

function isLoss(code: string): code is 'credential_superseded' | 'credential_unknown' {
  return code === 'credential_superseded' || code === 'credential_unknown';
}

function describe(error: unknown): string {
  const known =
    error instanceof ControlError || error instanceof NoAnswerError || error instanceof UnreadableAnswerError;
  return known ? error.message : String(error);
}
