import type { CoveredEvent } from '@holdfast/control-protocol';
import { JournalStoppedError, type Journal } from './journal.ts';

/** Keeps an event; resolves when it has its place, or when the instance has stopped, which keeps nothing. */
export async function publishUnlessStopped(
  journal: Journal,
  event: CoveredEvent,
  onAdmitted?: NonNullable<Parameters<Journal['publish']>[1]>['onAdmitted'],
): Promise<void> {
  try {
    await journal.publish(event, onAdmitted === undefined ? {} : { onAdmitted });
  } catch (error) {
    if (!(error instanceof JournalStoppedError)) throw error;
  }
}
