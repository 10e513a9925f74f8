import { describe, expect, it } from '@jest/globals';
import { signalProcess, until } from '@holdfast/testbeds';
import {
  InstanceOf,
  SETTINGS,
  accelerated,
  isType,
  ownedServer,
  readUntil,
  textsOf,
} from '../support/owned-server.ts';
import { REMEMBERED } from '../../src/permissions/permission-desk.ts';
import { ManualClock } from '../support/manual-clock.ts';

const FULL_AT_TWO = { ...SETTINGS, detachedEventLimit: 2 };

describe('permissions', () => {
  it('asks the backend, gives its answer to the agent, and knows a late second answer', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(1, { step: 'permission', title: 'Delete all' });
    const asked = await readUntil(stream, isType('permission_requested'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    expect(permissions).toMatchObject([{ turnId, toolCall: { title: 'Delete all' } }]);
    expect(asked.at(-1)?.event).toEqual({ type: 'permission_requested', permission: permissions[0] });
    const requestId = permissions[0]?.requestId ?? '';

    const answer = owned.client.call('answerPermission', { instanceId, requestId, optionId: 'not-offered' });
    await expect(answer).rejects.toMatchObject({ code: 'permission_option_not_offered' });
    const unknown = owned.client.call('answerPermission', {
      instanceId,
      requestId: 'unknown',
      cancelled: true,
    });
    await expect(unknown).rejects.toMatchObject({ code: 'permission_not_found' });
    await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'reject' });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(textsOf(events)).toEqual(['permission: reject']);
    const late = owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    await expect(late).rejects.toMatchObject({ code: 'permission_stale' });
  });

  it('answers at once where everything is allowed', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start({ approval: 'allow' });
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'permission', title: 'x' });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(textsOf(events)).toEqual(['permission: allow']);
    expect(events.some(isType('permission_requested'))).toBe(false);
  });

  it('answers open requests with "cancelled" when the turn is cancelled', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const turnId = await instance.prompt(1, { step: 'permission', title: 'x' });
    await readUntil(stream, isType('permission_requested'));
    await owned.client.call('cancel', { instanceId: instance.instanceId, turnId });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events[0]?.event).toMatchObject({ type: 'permission_cancelled', reason: 'turn_cancelled' });
    expect(events.at(-1)?.event).toMatchObject({ outcome: { kind: 'cancelled' } });
  });

  it('closes a request that the agent withdraws', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'permission', title: 'x', withdrawAfterMs: 20 });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.find(isType('permission_cancelled'))?.event).toMatchObject({ reason: 'agent_withdrew' });
    expect(textsOf(events)).toEqual(['permission: cancelled']);
  });

  it('closes the requests of an agent that exits', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'permission', title: 'x' });
    await readUntil(stream, isType('permission_requested'));
    signalProcess((await instance.describe()).agentPid, 'SIGKILL');
    const events = await readUntil(stream, isType('agent_exited'));
    expect(events.map(({ event }) => event.type)).toEqual([
      'turn_ended',
      'permission_cancelled',
      'agent_exited',
    ]);
    expect(events[1]?.event).toMatchObject({ reason: 'agent_exited' });
  });

  it('parks a request while detached, for longer than an attached one would wait, then announces it [SURVIVAL-001.9] [CONTRACT-14]', async () => {
    const { clock, settings, ...limits } = accelerated(20);
    await using owned = await ownedServer({
      clock,
      ...limits,
      settings: { ...settings, detachedEventLimit: FULL_AT_TWO.detachedEventLimit },
    });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await instance.prompt(1, { step: 'say', text: 'fills it' }, { step: 'permission', title: 'x' });
    await instance.untilIt('the announcement to wait', ({ journal }) => journal.paused);
    const parkedAt = clock.now();
    await instance.untilIt('three limits to pass', () => clock.now() - parkedAt > 15_000);
    const { instanceId } = instance;
    expect((await owned.client.call('listPermissions', { instanceId })).permissions).toHaveLength(1);

    await using stream = await instance.attach(0);
    const events = await readUntil(stream, isType('permission_requested'));
    expect(events.map(({ event }) => event.type)).toEqual([
      'turn_started',
      'session_update',
      'permission_requested',
    ]);
    expect((await owned.client.call('listPermissions', { instanceId })).permissions).toHaveLength(1);
  });

  it('cancels a request that finds no room for five seconds while attached [CONTRACT-14]', async () => {
    await using owned = await ownedServer(accelerated(10));
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'chunks', count: 999 }, { step: 'permission', title: 'x' });
    await readUntil(stream, ({ seq }) => seq === 1000);
    await instance.untilIt('the announcement to wait', ({ journal }) => journal.paused);
    const { instanceId } = instance;
    await until(
      async () => (await owned.client.call('listPermissions', { instanceId })).permissions.length === 0,
      {
        reason: 'the request to be cancelled',
        withinMs: 60_000,
      },
    );
    stream.acknowledge(1000);
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events[0]?.event).toMatchObject({ type: 'permission_cancelled', reason: 'announcement_timeout' });
    expect(textsOf(events)).toEqual(['permission: cancelled']);
  });

  it('parks a request without an owner, hands it to the next one, and takes one answer [SURVIVAL-001.9] [CONTRACT-14]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock, settings: FULL_AT_TWO });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const turnId = await instance.prompt(
      1,
      { step: 'say', text: 'fills it' },
      { step: 'permission', title: 'x' },
    );
    await instance.untilIt('the announcement to wait', ({ journal }) => journal.paused);
    clock.advance(10 * 5000);
    const { credential } = await owned.client.call('rotate', {});
    const client = owned.client.withCredential(credential);
    const { instanceId } = instance;
    const { permissions } = await client.call('listPermissions', { instanceId });
    expect(permissions).toMatchObject([{ turnId }]);
    const requestId = permissions[0]?.requestId ?? '';

    await using stream = await client.openEvents(instanceId, { after: 0 });
    await readUntil(stream, isType('permission_requested'));
    clock.advance(10_000); // its announcement is over, and has no limit any more
    expect((await client.call('listPermissions', { instanceId })).permissions).toEqual(permissions);
    await client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual(['permission: allow']);
    const again = client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    await expect(again).rejects.toMatchObject({ code: 'permission_stale' });
  });

  it('counts the five seconds from each attach anew [CONTRACT-14]', async () => {
    const clock = new ManualClock();
    await using owned = await ownedServer({ clock });
    const instance = await InstanceOf.create(owned);
    await instance.start();
    const { instanceId } = instance;
    const open = async (): Promise<number> =>
      (await owned.client.call('listPermissions', { instanceId })).permissions.length;
    const stalled = await instance.attach(0);
    await instance.prompt(1, { step: 'chunks', count: 999 }, { step: 'permission', title: 'x' });
    await readUntil(stalled, ({ seq }) => seq === 1000);
    await instance.untilIt('the announcement to wait', ({ journal }) => journal.paused);
    clock.advance(4999);
    expect(await open()).toBe(1);
    await stalled.close();
    await instance.untilIt('nobody to be attached', ({ attached }) => !attached);
    clock.advance(60_000);
    expect(await open()).toBe(1);

    await using again = await instance.attach(0);
    clock.advance(4999);
    expect(await open()).toBe(1);
    clock.advance(1);
    expect(await open()).toBe(0);
    const events = await readUntil(again, isType('turn_ended'), { acknowledge: true });
    expect(events.slice(1000).map(({ event }) => event)).toMatchObject([
      { type: 'permission_cancelled', reason: 'announcement_timeout' },
      { type: 'session_update' },
      { type: 'turn_ended' },
    ]);
  });

  it('takes one of two answers that come at once', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(1, { step: 'permission', title: 'x' });
    await readUntil(stream, isType('permission_requested'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    const requestId = permissions[0]?.requestId ?? '';
    const answers = await Promise.allSettled(
      (['allow', 'reject'] as const).map(async (optionId) => {
        await owned.client.call('answerPermission', { instanceId, requestId, optionId });
        return optionId;
      }),
    );
    const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const lost = answers.filter(({ status }) => status === 'rejected');
    expect(won).toHaveLength(1);
    expect(lost).toMatchObject([{ reason: { code: 'permission_stale' } }]);
    expect(textsOf(await readUntil(stream, isType('turn_ended')))).toEqual([`permission: ${won.join()}`]);
  });

  it('keeps a request open that outlives its turn, and gives the answer to the agent', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const request = {
      jsonrpc: '2.0',
      id: 'asked-in-passing',
      method: 'session/request_permission',
      params: {
        sessionId: 'any',
        toolCall: { toolCallId: 'call-1' },
        options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
      },
    };
    const turnId = await instance.prompt(1, { step: 'rawLine', line: JSON.stringify(request) });
    await readUntil(stream, isType('turn_ended'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    expect(permissions).toMatchObject([{ turnId, toolCall: { toolCallId: 'call-1' } }]);
    const answer = { instanceId, requestId: permissions[0]?.requestId ?? '', optionId: 'yes' };
    await owned.client.call('answerPermission', answer);
    await expect(owned.client.call('answerPermission', answer)).rejects.toMatchObject({
      code: 'permission_stale',
    });
    expect((await owned.client.call('listPermissions', { instanceId })).permissions).toEqual([]);
  });

  it('does not mind the withdrawal of what was never asked or is answered', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    const withdrawal = (requestId: unknown) =>
      ({
        step: 'rawLine',
        line: JSON.stringify({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId } }),
      }) as const;
    await instance.prompt(
      1,
      withdrawal('never'),
      { step: 'permission', title: 'x' },
      withdrawal(0),
      withdrawal({}),
    );
    await readUntil(stream, isType('permission_requested'));
    const { instanceId } = instance;
    const { permissions } = await owned.client.call('listPermissions', { instanceId });
    const requestId = permissions[0]?.requestId ?? '';
    await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    const events = await readUntil(stream, isType('turn_ended'));
    expect(events.map(({ event }) => event.type)).toEqual(['session_update', 'turn_ended']);
    expect(textsOf(events)).toEqual(['permission: allow']);
  });

  it('knows a late answer to one of the last 256 requests, and no longer one to an older request', async () => {
    await using owned = await ownedServer();
    const instance = await InstanceOf.create(owned);
    await instance.start();
    await using stream = await instance.attach(0);
    await instance.prompt(
      1,
      ...Array.from({ length: REMEMBERED + 1 }, () => ({ step: 'permission', title: 'x' }) as const),
    );
    const { instanceId } = instance;
    const ids: string[] = [];
    while (ids.length <= REMEMBERED) {
      await readUntil(stream, isType('permission_requested'), { acknowledge: true });
      const { permissions } = await owned.client.call('listPermissions', { instanceId });
      const requestId = permissions[0]?.requestId ?? '';
      ids.push(requestId);
      await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    }
    await readUntil(stream, isType('turn_ended'));
    const late = async (requestId = '') =>
      await owned.client.call('answerPermission', { instanceId, requestId, optionId: 'allow' });
    await expect(late(ids[0])).rejects.toMatchObject({ code: 'permission_not_found' });
    await expect(late(ids[1])).rejects.toMatchObject({ code: 'permission_stale' });
    await expect(late(ids.at(-1))).rejects.toMatchObject({ code: 'permission_stale' });
  });
});
