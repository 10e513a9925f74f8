import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { BASE_PATH, STREAM_CLOSE } from '@holdfast/control-protocol';
import type { EventStream } from '@holdfast/control-protocol/client';
import { until } from '@holdfast/testbeds';
import type { OwnershipStep } from '../../src/index.ts';
import { InstanceOf, ownedServer } from '../support/owned-server.ts';

describe('a stream and a rotation', () => {
  it('closes what was opened under an older credential, in the same instant as well [OWNERSHIP-002.2]', async () => {
    const at = new Map<OwnershipStep, () => Promise<void>>();
    await using owned = await ownedServer({ onOwnershipStep: async (step) => await at.get(step)?.() });
    const before = await InstanceOf.create(owned, { instanceId: 'before' });
    const during = await InstanceOf.create(owned, { instanceId: 'during' });
    await using openedBefore = await before.attach(0);
    await using opened = new AsyncDisposableStack();
    const ends: number[] = [];
    const noteEnd = ({ ended }: EventStream): void => {
      void ended.then(({ code }) => ends.push(code));
    };
    noteEnd(openedBefore);
    let refusal: unknown;
    at.set('rotating', async () => {
      // The rotation has been asked for, and nothing has moved yet.
      noteEnd(opened.use(await during.attach(0)));
    });
    at.set('rotated', async () => {
      // It has taken effect, and nobody has been told yet.
      refusal = await during.attach(0).catch((error: unknown) => error);
    });
    const { credential } = await owned.client.call('rotate', {});
    at.clear();
    expect(refusal).toMatchObject({ code: 'credential_superseded' });
    await until(() => ends.length === 2, { reason: 'both streams to be closed', withinMs: 60_000 });
    expect(ends).toEqual([STREAM_CLOSE.superseded, STREAM_CLOSE.superseded]);

    const driver = owned.client.withCredential(credential);
    for (const { instanceId } of [before, during]) {
      expect(await driver.call('getInstance', { instanceId })).toMatchObject({ attached: false });
    }
    // A replay moves nothing: the new driver keeps its stream.
    await using stream = await driver.openEvents('during', { after: 0 });
    expect(await owned.client.call('rotate', {})).toMatchObject({ credential, replayed: true });
    expect(await driver.call('getInstance', { instanceId: 'during' })).toMatchObject({ attached: true });
    await driver.call('deleteInstance', { instanceId: 'during' });
    expect((await stream.ended).code).toBe(STREAM_CLOSE.instanceStopped);
  });

  it('refuses an upgrade that was under way when the credential was replaced [OWNERSHIP-002.2]', async () => {
    await using owned = await ownedServer();
    const { instanceId } = await InstanceOf.create(owned);
    const { hostname, port, host } = new URL(owned.server.endpoint);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.write(
      `GET ${BASE_PATH}/instances/${instanceId}/events?after=0 HTTP/1.1\r\nHost: ${host}\r\n` +
        `Authorization: Bearer ${owned.credential}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\n',
    );
    const { credential } = await owned.client.call('rotate', {});
    socket.write(`Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`);
    await until(() => answer.includes('\r\n\r\n'), { reason: 'an answer to the upgrade', withinMs: 60_000 });
    expect(answer).toMatch(/^HTTP\/1\.1 403 .*credential_superseded/s);
    socket.destroy();
    const driver = owned.client.withCredential(credential);
    expect(await driver.call('getInstance', { instanceId })).toMatchObject({ attached: false });
  });
});
