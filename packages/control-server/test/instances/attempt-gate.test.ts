import { expect, it } from '@jest/globals';
import type { AgentListener } from '../../src/agent/agent-listener.ts';
import { AttemptGate } from '../../src/instances/attempt-gate.ts';

const ASKED = { toolCall: {}, options: [], reply: (): void => undefined };

/** Says one of everything, under a name. */
async function speak(listener: AgentListener, name: string): Promise<void> {
  await listener.publish({ type: 'session_update', update: { sessionUpdate: name } });
  listener.publishLossy({ type: 'mcp_attachment_evidence', serverName: name, evidence: '' });
  await listener.permissionAsked(ASKED, () => undefined);
  await listener.permissionWithdrawn(name);
}

function gated() {
  const heard: string[] = [];
  const hear = (what: string): Promise<void> => {
    heard.push(what);
    return Promise.resolve();
  };
  const gate = new AttemptGate({
    publish: async () => await hear('event'),
    publishLossy: () => void heard.push('lossy event'),
    permissionAsked: async () => await hear('permission asked'),
    permissionWithdrawn: async () => await hear('permission withdrawn'),
    files: {
      readText: async () => await Promise.resolve(''),
      writeText: async () => {
        await Promise.resolve();
      },
    },
  });
  return { gate, heard };
}

const EVERYTHING = ['event', 'lossy event', 'permission asked', 'permission withdrawn'];

it('passes on what the agent of the attempt says', async () => {
  const { gate, heard } = gated();
  await speak(gate.open(), 'first');
  expect(heard).toEqual(EVERYTHING);
});

it('passes on nothing of an attempt that has failed or was followed by another [RUNTIME-002.6]', async () => {
  const { gate, heard } = gated();
  const first = gate.open();
  gate.close();
  await speak(first, 'first');
  const second = gate.open();
  await speak(first, 'first');
  expect(heard).toEqual([]);
  const third = gate.open();
  await speak(second, 'second');
  expect(heard).toEqual([]);
  await speak(third, 'third');
  expect(heard).toEqual(EVERYTHING);
});
