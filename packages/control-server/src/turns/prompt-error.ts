import { ControlError, invalidRequest } from '@holdfast/control-protocol';
import type { PromptRefusal } from './turn-book.ts';

/** What a prompt that cannot be accepted is answered. */
export function promptError(refusal: PromptRefusal): ControlError {
  switch (refusal.code) {
    case 'turn_in_progress':
      return new ControlError(
        'turn_in_progress',
        `Turn ${refusal.turnId} has not ended; cancel it or wait for its turn_ended event.`,
        { turnId: refusal.turnId },
      );
    case 'outcomes_unacknowledged':
      return new ControlError(
        'outcomes_unacknowledged',
        `${String(refusal.retained)} outcomes wait for an acknowledgement; acknowledge them first.`,
      );
    case 'generation_not_new':
      return invalidRequest('request body', [
        {
          path: ['promptGeneration'],
          message:
            `must be above ${String(refusal.last)}, the highest that this instance has accepted; ` +
            `it is ${String(refusal.given)}`,
        },
      ]);
  }
}
