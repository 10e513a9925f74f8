import type { OwnershipContext } from './context.ts';
import { messageOf } from '../events/message-of.ts';

/** Removes secrets that nothing needs any more. A failure is told and leaves litter, no more. */
export async function removeSecrets(
  { secrets, onEvent }: Pick<OwnershipContext, 'secrets' | 'onEvent'>,
  scope: string,
  references: readonly string[],
): Promise<void> {
  for (const reference of references) {
    try {
      await secrets.remove(reference);
    } catch (error) {
      const detail = messageOf(error);
      onEvent({ name: 'secret.not_removed', scope, detail });
    }
  }
}
