import { ControlError } from '@holdfast/control-protocol';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import { STOP_TIMEOUT_MS } from './stop-timeout.ts';

/** Stops an instance's agent; resolves when nothing is left of it, also where it had none. */
export async function stopAgent(
  { client }: Pick<OwnedControlServer, 'client'>,
  instanceId: string,
): Promise<void> {
  try {
    await client.call('stopAgent', { instanceId }, { timeoutMs: STOP_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof ControlError && error.code === 'agent_not_running')) throw error;
  }
}
