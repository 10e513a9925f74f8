import { describe, expect, it } from '@jest/globals';
import { InstanceEvent, SequencedEvent } from '@holdfast/control-protocol';
import type { AgentListener } from '../../src/agent/agent-listener.ts';
import { IN_A_ROW } from '../../src/agent/take-turns.ts';
import { listenToAgent } from '../../src/instances/listen-to-agent.ts';
import { Journal } from '../../src/journal/journal.ts';
import { Permissions } from '../../src/permissions/permissions.ts';
import { Turns } from '../../src/turns/turns.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { COVERED_SAMPLES, EXCLUDED_SAMPLES } from '../support/event-samples.ts';
import { ManualClock } from '../support/manual-clock.ts';

const READER = { onAppended: () => undefined, onLossy: () => true };

/** The real parts of an instance behind the door through which everything comes that an agent says; full after one event. */
async function fullDoor(): Promise<{ readonly journal: Journal; readonly door: AgentListener }> {
  const clock = new ManualClock();
  const journal = new Journal({
    clock,
    detachedLimit: 1,
    maxBytes: 1_000_000,
    onFirstDropped: () => undefined,
  });
  const door = listenToAgent({
    journal,
    turns: new Turns({ clock, journal, nextTurnId: () => 'turn' }),
    permissions: new Permissions({ clock, journal, nextRequestId: () => 'request' }),
    activity: { touch: () => undefined },
    files: new Workspace(() => ({ workspacePath: '/nowhere', roots: [] })),
  });
  await door.publish({ type: 'session_update', update: { sessionUpdate: 'first' } });
  return { journal, door };
}

async function isOver(work: Promise<void>): Promise<boolean> {
  return await Promise.race([
    work.then(() => true),
    new Promise<false>((resolve) => {
      setImmediate(resolve, false);
    }),
  ]);
}

describe('the door for what an agent says', () => {
  it.each(Object.values(COVERED_SAMPLES))(
    'makes the agent wait with a $type until it has its place [SURVIVAL-001.6]',
    async (event) => {
      const { journal, door } = await fullDoor();
      const published = door.publish(event);
      expect(await isOver(published)).toBe(false);
      journal.attach(READER);
      await published;
      const told = journal.readAfter(1, 10_000).map(({ json }) => SequencedEvent.parse(JSON.parse(json)));
      expect(told).toMatchObject([{ seq: 2, event: InstanceEvent.parse(event) }]);
    },
  );

  it.each(Object.values(COVERED_SAMPLES))(
    'lets the agent go on with a $type when the instance stops [SURVIVAL-001.10]',
    async (event) => {
      const { journal, door } = await fullDoor();
      const published = door.publish(event);
      journal.stop();
      await published;
      await door.publish(event);
      expect(journal.unacknowledged).toBe(0);
    },
  );

  it.each(Object.values(EXCLUDED_SAMPLES))(
    'never makes it wait with a $type, and counts those that nobody heard',
    async (event) => {
      const { journal, door } = await fullDoor();
      const waiting = door.publish({ type: 'session_update', update: { sessionUpdate: 'second' } });
      door.publishLossy(event);
      expect(journal.figures.dropped[event.type]).toBe(1);
      journal.attach(READER);
      await waiting;
      door.publishLossy(event);
      expect(journal.figures).toMatchObject({ pauses: 1, dropped: { [event.type]: 1 } });
      expect(journal.nextSeq).toBe(3);
    },
  );
});

describe('an agent that has much to say', () => {
  it('does not hold up requests, timers and other agents', async () => {
    const { journal, door } = await fullDoor();
    journal.attach(READER);
    let turnsOfOthers = 0;
    let hasSaidAll = false;
    const countOn = (): void => {
      turnsOfOthers += 1;
      if (!hasSaidAll) setImmediate(countOn);
    };
    setImmediate(countOn);
    for (let event = 0; event < 10 * IN_A_ROW; event += 1) {
      await door.publish({ type: 'session_update', update: { sessionUpdate: 'flood', event } });
    }
    hasSaidAll = true;
    expect(journal.nextSeq).toBe(10 * IN_A_ROW + 2);
    expect(turnsOfOthers).toBeGreaterThanOrEqual(10);
  });
});
