import type { ExecutionRecord } from '@holdfast/executor-contract';
import { unlessAborted } from '../deadline.ts';
import type { SessionGuards } from '../guards/session-guards.ts';
import { acknowledgeOutcomes } from '../outcomes/apply-outcomes.ts';
import { OUTCOME_EFFECTS, type RowOutcome } from '../outcomes/row-outcome.ts';
import { retrack, type RetrackContext, type RetrackedSession } from './retrack.ts';
import { instanceIdsOf, rowsOf, type SessionWork } from './session-work.ts';
import { stopInstance, type StopContext } from './stop-instance.ts';
import { messageOf } from '../events/message-of.ts';

/**
 * Takes a session that works again. Recovery waits for it until the signal aborts; what has not been taken by then must not be taken
 * any more. A rejection leaves the instance running and unpublished.
 */
export type Publish = (session: RetrackedSession, signal: AbortSignal) => Promise<void> | void;

/** What the recovery of one session works with. */
export interface SessionContext extends StopContext, RetrackContext {
  readonly guards: SessionGuards;
  readonly publish: Publish;
  /** The outcome of a row that no live instance belongs to. */
  readonly outcomeOfLeft: (row: ExecutionRecord) => RowOutcome;
  /** Called for each row of the session; the first outcome counts. */
  readonly settle: (row: ExecutionRecord, outcome: RowOutcome) => void;
}

/**
 * Brings one session to its outcome, whatever happens. Rejects only when the host wants to stop, with its reason.
 */
export async function recoverSession(work: SessionWork, context: SessionContext): Promise<void> {
  try {
    await bringToOutcome(work, context);
  } catch (error) {
    context.signal.throwIfAborted();
    const instanceIds = instanceIdsOf(work);
    for (const row of rowsOf(work)) {
      context.settle(row, { kind: 'not_published', instanceIds, detail: messageOf(error) });
    }
    if (instanceIds.length > 0) context.guards.holdForGood(work.sessionId, instanceIds);
    else context.guards.release(work.sessionId);
  }
}

/**
 * Stops what does not belong to the session, then re-tracks what does, then lets launches in or, while an instance of it is out
 * of our hands, keeps them out for good (SURVIVAL-002.15, .16).
 */
async function bringToOutcome(work: SessionWork, context: SessionContext): Promise<void> {
  const { sessionId, leaves } = work;
  const { guards, settle, outcomeOfLeft } = context;
  // Instances without a row have no guard yet.
  if (work.stops.length > 0) guards.acquire(sessionId);

  const unstopped = await stopStrangers(work, context);
  const tracked =
    work.retrack === undefined ? undefined : await settleTracked(work.retrack, unstopped, context);
  if (work.retrack !== undefined && tracked !== undefined) settle(work.retrack.row, tracked.outcome);

  const outOfHand = [...new Set([...unstopped, ...instancesHeldBy(tracked?.outcome)])];
  for (const { row, why } of leaves) {
    settle(row, leftOutcome(outOfHand, why === 'ambiguous' ? { kind: 'ambiguous' } : outcomeOfLeft(row)));
  }
  if (outOfHand.length > 0) guards.holdForGood(sessionId, outOfHand);
  else guards.release(sessionId);

  const published = tracked?.published;
  if (published !== undefined) {
    const { server, instance, turn } = published;
    await acknowledgeOutcomes(context, { server, sessionId, instanceId: instance.instanceId }, turn);
  }
}

/** Gives the ids of those that are still alive. */
async function stopStrangers({ stops }: SessionWork, context: SessionContext): Promise<string[]> {
  const stopped = await Promise.all(
    stops.map(async ({ instance, why }) => ({
      instanceId: instance.instance.instanceId,
      stopped: await stopInstance(context, instance, why),
    })),
  );
  return stopped.filter((stop) => !stop.stopped).map(({ instanceId }) => instanceId);
}

interface Tracked {
  readonly outcome: RowOutcome;
  readonly published?: RetrackedSession;
}

async function settleTracked(
  { row, instance }: NonNullable<SessionWork['retrack']>,
  unstopped: readonly string[],
  context: SessionContext,
): Promise<Tracked> {
  const { instanceId } = instance.instance;
  const stopFor = async (
    why: 'missing_input' | 'failed_read' | 'stop_failed' | 'deadline',
    outcome: RowOutcome,
  ): Promise<Tracked> => {
    const stopped = await stopInstance(context, instance, why);
    return { outcome: stopped ? outcome : { kind: 'stop_failed', instanceIds: [...unstopped, instanceId] } };
  };
  // A second agent of the session lives on, so this one must not be published beside it.
  if (unstopped.length > 0)
    return await stopFor('stop_failed', { kind: 'stop_failed', instanceIds: unstopped });

  const server = context.servers.get(instance.scope);
  if (server === undefined) return { outcome: { kind: 'not_enumerated' } };
  try {
    const retracking = await retrack(context, row, instance, server);
    if (retracking.kind === 'no_instance') return { outcome: retracking };
    if (retracking.kind !== 'ready') return await stopFor(retracking.kind, retracking);
    await publish(context, retracking.session);
    const { executionId, sessionId } = row;
    context.onEvent({ name: 'session.retracked', sessionId, executionId, instanceId });
    return { outcome: { kind: 'retracked' }, published: retracking.session };
  } catch (error) {
    context.signal.throwIfAborted();
    if (context.deadline.aborted && error === context.deadline.reason) {
      return await stopFor('deadline', { kind: 'deadline' });
    }
    // The agent is well; it is our own side that failed, so nothing is stopped.
    return { outcome: { kind: 'not_published', instanceIds: [instanceId], detail: messageOf(error) } };
  }
}

/** Nothing is published late (SURVIVAL-003.7). */
async function publish({ deadline, ...context }: SessionContext, session: RetrackedSession): Promise<void> {
  deadline.throwIfAborted();
  await unlessAborted(Promise.resolve(context.publish(session, deadline)), deadline);
}

/** The instances because of which the session stays guarded. */
function instancesHeldBy(outcome: RowOutcome | undefined): readonly string[] {
  if (outcome === undefined || OUTCOME_EFFECTS[outcome.kind].guard === 'release') return [];
  return 'instanceIds' in outcome ? outcome.instanceIds : [];
}

function leftOutcome(outOfHand: readonly string[], otherwise: RowOutcome): RowOutcome {
  return outOfHand.length > 0 ? { kind: 'stop_failed', instanceIds: outOfHand } : otherwise;
}
