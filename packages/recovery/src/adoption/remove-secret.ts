import type { ControlServerRecord } from '@holdfast/executor-contract';
import type { OwnershipContext } from './context.ts';

/** Removes a secret that nothing needs any more. A failure is told and leaves litter, no more. */
export async function removeSecret(
  { secrets, onEvent }: Pick<OwnershipContext, 'secrets' | 'onEvent'>,
  { scope, credentialRef }: ControlServerRecord,
): Promise<void> {
  try {
    await secrets.remove(credentialRef);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    onEvent({ name: 'secret.not_removed', scope, detail });
  }
}
