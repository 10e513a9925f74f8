import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { BASE_PATH, STREAM_CLOSE } from '@holdfast/control-protocol';
import { WebSocket } from 'ws';
import { InstanceOf, accelerated, ownedServer, type OwnedServer } from '../support/owned-server.ts';

async function bareSocket(
  owned: OwnedServer,
  instance: InstanceOf,
  options: { readonly autoPong: boolean },
): Promise<WebSocket> {
  const url = `${owned.server.endpoint.replace('http', 'ws')}${BASE_PATH}/instances/${instance.instanceId}/events?after=0`;
  const socket = new WebSocket(url, { ...options, headers: { Authorization: `Bearer ${owned.credential}` } });
  const first = await once(socket, 'message');
  expect(JSON.parse(String(first[0]))).toEqual({
    type: 'attached',
    instanceId: instance.instanceId,
    nextSeq: 1,
    replayFrom: 1,
  });
  return socket;
}

describe('the socket of a stream', () => {
  it('is dropped when it misses two pings, and its instance is detached then', async () => {
    await using owned = await ownedServer(accelerated(100));
    const instance = await InstanceOf.create(owned);
    const socket = await bareSocket(owned, instance, { autoPong: false });
    let pings = 0;
    socket.on('ping', () => {
      pings += 1;
    });
    expect((await once(socket, 'close'))[0]).toBe(1006);
    expect(pings).toBe(2);
    await instance.untilIt('the instance to be detached', ({ attached }) => !attached);
  });

  it.each([
    ['no JSON', 'ack'],
    ['an unknown message', '{"type":"hello"}'],
    ['an unknown field', '{"type":"ack","seq":0,"typo":1}'],
    ['a position that was never sent', '{"type":"ack","seq":1}'],
    ['binary data', Buffer.from('{"type":"ack","seq":0}')],
  ])('is closed for %s', async (_name, message) => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const socket = await bareSocket(owned, instance, { autoPong: true });
    socket.send(message);
    expect((await once(socket, 'close'))[0]).toBe(STREAM_CLOSE.protocolViolation);
  });

  it('that never answers a close does not hold up the end of the server', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    const socket = await bareSocket(owned, instance, { autoPong: true });
    socket.pause();
    await owned.server.stop();
    expect(await owned.server.ended).toEqual({ why: 'stopped' });
    socket.terminate();
  });
});
