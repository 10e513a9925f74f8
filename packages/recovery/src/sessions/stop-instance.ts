import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { ScopedInstance } from '../correlation/correlate.ts';
import type { InstanceStopReason, OnRecoveryEvent } from '../events/recovery-event.ts';
import type { Slots } from './slots.ts';

/** What stopping works with. */
export interface StopContext {
  /** The adopted server of each scope that was enumerated. */
  readonly servers: ReadonlyMap<string, OwnedControlServer>;
  /** The host's own wish to stop: no further instance is stopped after it. */
  readonly signal: AbortSignal;
  readonly stopSlots: Slots;
  readonly onEvent: OnRecoveryEvent;
}

/** Stops one instance on the read budget, which no deadline cuts, and tells of it. Gives whether it is stopped. */
export async function stopInstance(
  { servers, signal, stopSlots, onEvent }: StopContext,
  { scope, instance }: ScopedInstance,
  why: InstanceStopReason,
): Promise<boolean> {
  signal.throwIfAborted();
  const { instanceId, sessionId } = instance;
  const server = servers.get(scope);
  const stop =
    server === undefined
      ? ({
          kind: 'not_stopped',
          detail: `the server of scope ${scope} is not driven by this backend`,
        } as const)
      : await stopSlots.run(signal, async () => await server.stopInstance(instanceId));
  const facts = { scope, instanceId, sessionId, why };
  if (stop.kind === 'stopped') {
    onEvent({ name: 'instance.stopped', ...facts });
    return true;
  }
  onEvent({ name: 'instance.stop_failed', ...facts, detail: stop.detail });
  return false;
}
