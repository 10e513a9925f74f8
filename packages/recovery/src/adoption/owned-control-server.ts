import type {
  ControlServerRecord,
  Dialled,
  Enumeration,
  InstanceStop,
  OwnedControlServer,
} from '@holdfast/executor-contract';
import { boundedRead } from '../reconstruction/bounded-read.ts';
import { CALL_TIMEOUT_MS, type OwnershipContext } from './context.ts';
import { DrivingClient } from './driving-client.ts';
import type { Loss } from './loss.ts';
import { OwnershipLostError } from './ownership-lost-error.ts';
import { startRenewal } from './renewal.ts';
import type { ServerEnd } from './server-end.ts';
import { ServerEndedError } from './server-ended-error.ts';
import { ServerNotStoppedError } from './server-errors.ts';
import { stopServer } from './stop-server.ts';

/** A server whose credential and record are durable. */
export interface TakenServer {
  readonly record: ControlServerRecord;
  /** Through a tunnel this is not the record's endpoint. */
  readonly dialled: Dialled;
  readonly credential: string;
  readonly unownedPeriodMs: number;
}

/** Starts driving a server: renewal runs from here on (OWNERSHIP-003.8). */
export function driveServer(context: OwnershipContext, taken: TakenServer): OwnedControlServer {
  const { settings, onEvent, crashPoint } = context;
  const { scope, serverId, capabilities, logFile } = taken.record;
  const { credential, unownedPeriodMs } = taken;
  const { endpoint, route } = taken.dialled;
  const lost = new AbortController();
  const ended = new AbortController();
  let driving = true;
  const letGo = async (): Promise<void> => {
    driving = false;
    await renewal.stop();
  };
  // Whatever notices it first; what comes after we let go is neither a loss nor an end.
  const onLoss = (code: Loss): void => {
    if (!driving) return;
    void letGo();
    onEvent({ name: 'ownership.lost', scope, serverId, code });
    lost.abort(new OwnershipLostError({ scope, serverId, answer: code }));
  };
  const onEnd = (answer: ServerEnd): void => {
    if (!driving) return;
    void letGo();
    onEvent({ name: 'server.ended', scope, serverId, answer });
    ended.abort(new ServerEndedError({ scope, serverId, answer }));
  };
  const client = new DrivingClient(
    { endpoint, route, credential, timeoutMs: CALL_TIMEOUT_MS },
    { onLoss, onEnd },
  );
  const renewal = startRenewal({
    ...context,
    client,
    periodMs: unownedPeriodMs,
    onFailure: (detail) => {
      onEvent({ name: 'ownership.renewal_failed', scope, serverId, detail });
    },
  });

  return {
    scope,
    serverId,
    endpoint,
    capabilities,
    unownedPeriodMs,
    logFile,
    client,
    lost: lost.signal,
    ended: ended.signal,
    async enumerate(signal): Promise<Enumeration> {
      const listed = await boundedRead(
        { settings, signal, retryAnswered: true },
        async (limits) => await client.call('listInstances', {}, limits),
      );
      return listed.kind === 'read'
        ? { kind: 'enumerated', instances: listed.value.instances }
        : { kind: 'not_enumerated', detail: listed.error.message };
    },
    async stopInstance(instanceId): Promise<InstanceStop> {
      const deleted = await boundedRead(
        { settings, retryAnswered: true },
        async (limits) => await client.call('deleteInstance', { instanceId }, limits),
      );
      if (deleted.kind === 'read' || deleted.error.code === 'instance_not_found') return { kind: 'stopped' };
      return { kind: 'not_stopped', detail: deleted.error.message };
    },
    async release() {
      await letGo();
      if (!ended.signal.aborted) onEvent({ name: 'ownership.detached', scope, serverId });
    },
    async shutdown() {
      await letGo();
      crashPoint('shutdown.renewal_stopped');
      const stop = await stopServer(context, { client, route, serverId });
      if (stop.kind === 'not_stopped') throw new ServerNotStoppedError({ scope, serverId, why: stop.detail });
    },
  };
}
