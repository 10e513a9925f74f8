import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { CAPABILITIES, ownershipProof } from '@holdfast/control-protocol';
import { InstanceOf, ownedServer } from '../support/owned-server.ts';

const challengeOf = (): string => randomBytes(32).toString('base64url');

describe('ownership over the wire', () => {
  it('enumerates instances with the identities that they were given [CONTRACT-01] [CONTRACT-02] [CONTRACT-03]', async () => {
    await using owned = await ownedServer();
    const given = { instanceId: 'i-1', executionId: 'e-1', sessionId: 's-1', taskId: 't-1' };
    await InstanceOf.create(owned, { ...given, environment: { TOKEN: 'a-secret-value' } });
    const { instances, ownership } = await owned.client.call('listInstances', {});
    expect(instances).toMatchObject([{ ...given, status: 'idle', attached: false }]);
    expect(ownership).toEqual({ serverId: owned.server.serverId, rotationId: 1 });
    expect(JSON.stringify(instances)).not.toMatch(/a-secret-value|environment|command/);
  });

  it('tells identity before anything else, and knows shutdown outside the capability set [OWNERSHIP-004.6]', async () => {
    await using owned = await ownedServer();
    const { serverId, capabilities } = await owned.stranger.call('getIdentity', {});
    expect(serverId).toBe(owned.server.serverId);
    expect(capabilities).toEqual([...CAPABILITIES]);
    expect(capabilities.some((one) => /identity|ownership|shutdown/.test(one))).toBe(false);
  });

  it('proves that it holds its credential, for this challenge and address only', async () => {
    await using owned = await ownedServer();
    const { serverId } = owned.server;
    const { audience } = owned.stranger;
    const challenge = challengeOf();
    const { proofs } = await owned.stranger.call('proveOwnership', { challenge, audience });
    const expected = await ownershipProof({ credential: owned.credential, serverId, audience, challenge });
    expect(proofs).toEqual([{ rotationId: 1, proof: expected }]);
    const tunnelled = await owned.stranger.call('proveOwnership', { challenge });
    expect(tunnelled.proofs[0]?.proof).toBe(
      await ownershipProof({ credential: owned.credential, serverId, audience: '', challenge }),
    );
    for (const other of ['127.0.0.1:1', `localhost:${audience.split(':')[1] ?? ''}`, 'evil.example:80']) {
      await expect(
        owned.stranger.call('proveOwnership', { challenge, audience: other }),
      ).rejects.toMatchObject({
        code: 'audience_mismatch',
      });
    }
    await expect(owned.stranger.call('proveOwnership', { challenge: 'short' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('replaces the credential in two steps [OWNERSHIP-002.1] [OWNERSHIP-002.6] [OWNERSHIP-002.7] [OWNERSHIP-002.8] [OWNERSHIP-002.10]', async () => {
    await using owned = await ownedServer();
    const first = owned.client;
    const rotation = await first.call('rotate', {});
    expect(rotation).toMatchObject({ rotationId: 2, replayed: false });
    const second = first.withCredential(rotation.credential);

    // Unconfirmed: the first may adopt again, look and shut down, and nothing else.
    expect(await first.call('rotate', {})).toEqual({ ...rotation, replayed: true });
    expect(await first.call('getOwnership', {})).toMatchObject({ rotationId: 2, confirmed: false });
    for (const name of ['listInstances', 'claim'] as const) {
      await expect(first.call(name, {})).rejects.toMatchObject({ code: 'credential_superseded' });
    }
    const challenge = challengeOf();
    const { proofs } = await owned.stranger.call('proveOwnership', { challenge });
    expect(proofs.map(({ rotationId }) => rotationId)).toEqual([2, 1]);

    await expect(second.call('confirm', { rotationId: 3 })).rejects.toMatchObject({
      code: 'rotation_unknown',
    });
    expect(await second.call('confirm', { rotationId: 1 })).toEqual({ rotationId: 1, effective: false });
    expect(await second.call('confirm', { rotationId: 2 })).toEqual({ rotationId: 2, effective: true });
    expect(await second.call('confirm', { rotationId: 2 })).toEqual({ rotationId: 2, effective: false });
    for (const name of ['rotate', 'getOwnership', 'shutdown', 'listInstances'] as const) {
      await expect(first.call(name, {})).rejects.toMatchObject({ code: 'credential_unknown' });
    }
    expect(await second.call('getOwnership', {})).toMatchObject({ rotationId: 2, confirmed: true });

    const third = second.withCredential((await second.call('rotate', {})).credential);
    await third.call('rotate', {});
    await expect(third.call('claim', {})).rejects.toMatchObject({ code: 'credential_superseded' });
    await expect(second.call('getOwnership', {})).rejects.toMatchObject({ code: 'credential_unknown' });
  });

  it('stops everything for a superseded credential as well, and says the same again', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'ignoreSigterm' },
      { step: 'waitFor', file: 'never' },
    );
    await owned.client.call('rotate', {});
    const answer = await owned.client.call('shutdown', {});
    expect(answer).toEqual({ stopping: true, instances: 1 });
    expect(await owned.client.call('shutdown', {})).toEqual(answer);
    expect(await owned.server.ended).toEqual({ why: 'shutdown' });
    await expect(owned.client.call('getOwnership', {})).rejects.toMatchObject({ code: 'no_answer' });
  });

  it('takes nothing new once it stops', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(
      1,
      { step: 'ignoreCancel' },
      { step: 'ignoreSigterm' },
      { step: 'waitFor', file: 'never' },
    );
    await owned.client.call('shutdown', {});
    const { client } = owned;
    const refused = { code: 'shutting_down' };
    await expect(client.call('claim', {})).rejects.toMatchObject(refused);
    await expect(client.call('rotate', {})).rejects.toMatchObject(refused);
    await expect(InstanceOf.create(owned)).rejects.toMatchObject(refused);
    await expect(instance.start()).rejects.toMatchObject(refused);
    await expect(instance.prompt(2, { step: 'silence' })).rejects.toMatchObject(refused);
    await owned.server.ended;
  });
});
