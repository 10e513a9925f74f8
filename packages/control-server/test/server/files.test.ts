import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  InstanceOf,
  isType,
  ownedServer,
  readUntil,
  textsOf,
  type OwnedServer,
} from '../support/owned-server.ts';
import { rawRequest } from '../support/raw-request.ts';

/** An instance whose workspace is its one source root, and a secret outside of it. */
async function instanceWithFiles(
  owned: OwnedServer,
): Promise<{ instance: InstanceOf; root: string; secret: string }> {
  const root = await owned.home.folder('project');
  const secret = join(await owned.home.folder('elsewhere'), 'secret');
  await writeFile(secret, 'secret');
  await writeFile(join(root, 'readme'), 'one\ntwo\nthree\n');
  await mkdir(join(root, 'src'));
  const instance = await InstanceOf.create(owned, { workspacePath: root, workspaceSourceRoots: [root] });
  return { instance, root, secret };
}

describe('files for the backend', () => {
  it('are listed and read, relative to the workspace or by an absolute path', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    const { client } = owned;
    const { instanceId } = instance;
    const { entries, truncated } = await client.call('listFiles', { instanceId });
    expect(entries.map(({ name, kind }) => `${name} ${kind}`)).toEqual(['readme file', 'src directory']);
    expect(truncated).toBe(false);
    expect(await client.call('listFiles', { instanceId, path: 'src' })).toEqual({
      entries: [],
      truncated: false,
    });
    const whole = await client.call('readFile', { instanceId, path: join(root, 'readme') });
    expect(Buffer.from(whole).toString()).toBe('one\ntwo\nthree\n');
    const slice = await client.call('readFile', { instanceId, path: 'readme', offset: 4, limit: 3 });
    expect(Buffer.from(slice).toString()).toBe('two');
  });

  it('may have any name', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    const name = ' a&b=c#ü%41+?';
    await writeFile(join(root, name), 'found');
    const read = await owned.client.call('readFile', { instanceId: instance.instanceId, path: name });
    expect(Buffer.from(read).toString()).toBe('found');
  });

  it('are bytes as they are, and neither stored nor taken for something else on the way', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    const bytes = Buffer.from([0xff, 0x00, 0x7b, 0x22, 0x0a, 0xc3]);
    await writeFile(join(root, 'binary'), bytes);
    const read = await owned.client.call('readFile', { instanceId: instance.instanceId, path: 'binary' });
    expect(Buffer.from(read).equals(bytes)).toBe(true);
    const { headers } = await rawRequest(owned.server.endpoint, {
      path: `/api/v1/instances/${instance.instanceId}/file?path=binary`,
      headers: { Authorization: `Bearer ${owned.credential}` },
    });
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '6',
      'cache-control': 'no-store',
    });
  });

  it('outside the source roots are refused, however the path is written, and only the asked path is named', async () => {
    await using owned = await ownedServer();
    const { instance, root, secret } = await instanceWithFiles(owned);
    await symlink(secret, join(root, 'link'));
    for (const path of ['../elsewhere/secret', secret, 'link', '/etc/passwd', '..']) {
      const error = {
        code: 'path_outside_roots',
        message: `${path}: it is outside the source roots of the instance`,
      };
      const { instanceId } = instance;
      await expect(owned.client.call('readFile', { instanceId, path })).rejects.toMatchObject(error);
      await expect(owned.client.call('listFiles', { instanceId, path })).rejects.toMatchObject(error);
    }
  });

  it('are those of the roots that the instance has, before and after an adoption, until they are set anew [SURVIVAL-002.5]', async () => {
    await using owned = await ownedServer();
    const { instance, root, secret } = await instanceWithFiles(owned);
    const { instanceId } = instance;
    const rotated = await owned.client.call('rotate', {});
    const adopter = owned.stranger.withCredential(rotated.credential);
    await adopter.call('confirm', { rotationId: rotated.rotationId });
    expect((await adopter.call('getReconstruction', { instanceId })).workspaceSourceRoots).toEqual([root]);
    const outside = { code: 'path_outside_roots' };
    await expect(adopter.call('readFile', { instanceId, path: secret })).rejects.toMatchObject(outside);
    const elsewhere = owned.home.path('elsewhere');
    await adopter.call('setWorkspaceRoots', { instanceId, workspaceSourceRoots: [elsewhere] });
    expect(Buffer.from(await adopter.call('readFile', { instanceId, path: secret })).toString()).toBe(
      'secret',
    );
    await expect(adopter.call('listFiles', { instanceId })).rejects.toMatchObject(outside);
  });

  it('that are not there or no regular files are clear errors', async () => {
    await using owned = await ownedServer();
    const { instance } = await instanceWithFiles(owned);
    const { instanceId } = instance;
    await expect(owned.client.call('readFile', { instanceId, path: 'gone' })).rejects.toMatchObject({
      code: 'file_not_found',
      message: 'gone: nothing is there',
    });
    await expect(owned.client.call('readFile', { instanceId, path: 'src' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'query is not valid: path: src: it is not a regular file',
    });
    await expect(owned.client.call('listFiles', { instanceId, path: 'readme' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'query is not valid: path: readme: it is not a directory',
    });
  });

  it.each([
    ['file', '', 'path: '],
    ['file', '?path=readme&path=src', 'path: must be given once'],
    ['file', '?path=readme&offset=-1', 'offset: must be a whole number'],
    ['file', '?path=readme&limit=0', 'limit: '],
    ['file', '?path=readme&limit=9000000', 'limit: '],
    ['file', '?path=readme&depth=1', 'depth'],
    ['file', '?path=%00', 'path: must not contain NUL'],
    ['files', '?path=', 'path: '],
    ['turn', '?path=x', 'path'],
  ])('asked for by %s%s are refused with what is wrong', async (operation, query, message) => {
    await using owned = await ownedServer();
    const { instance } = await instanceWithFiles(owned);
    const { status, body } = await rawRequest(owned.server.endpoint, {
      path: `/api/v1/instances/${instance.instanceId}/${operation}${query}`,
      headers: { Authorization: `Bearer ${owned.credential}` },
    });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining(`query is not valid: `) },
    });
    expect(JSON.stringify(body)).toContain(message);
  });
});

describe('files for the agent', () => {
  async function said(instance: InstanceOf, method: string, params: object): Promise<string[]> {
    const generation = (await instance.turns()).lastPromptGeneration + 1;
    const stream = await instance.attach(0);
    await instance.prompt(generation, { step: 'request', method, params });
    const events = await readUntil(stream, isType('turn_ended'), { acknowledge: true });
    await stream.close();
    return textsOf(events);
  }

  it('are read and written through the protocol, whole or by lines', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    await instance.start();
    const path = join(root, 'readme');
    const content = (text: string): string => `request: result ${JSON.stringify({ content: text })}`;
    expect(await said(instance, 'fs/read_text_file', { path })).toContain(content('one\ntwo\nthree\n'));
    expect(await said(instance, 'fs/read_text_file', { path, line: 2, limit: 1 })).toContain(
      content('two\n'),
    );
    const written = join(root, 'new/file');
    expect(await said(instance, 'fs/write_text_file', { path: written, content: 'hällo' })).toContain(
      'request: result {}',
    );
    expect(await readFile(written, 'utf8')).toBe('hällo');
  });

  it('outside the source roots are refused, and nothing is written there', async () => {
    await using owned = await ownedServer();
    const { instance, root, secret } = await instanceWithFiles(owned);
    await symlink(secret, join(root, 'link'));
    await instance.start();
    for (const path of [secret, join(root, '../elsewhere/secret'), join(root, 'link')]) {
      expect(await said(instance, 'fs/read_text_file', { path })).toContain('request: error -32602');
      expect(await said(instance, 'fs/write_text_file', { path, content: 'x' })).toContain(
        'request: error -32602',
      );
    }
    expect(await readFile(secret, 'utf8')).toBe('secret');
  });

  it('that are missing, and requests that are not in order, are errors of the protocol', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    await instance.start();
    const path = join(root, 'gone');
    expect(await said(instance, 'fs/read_text_file', { path })).toContain('request: error -32002');
    for (const params of [{}, { path: '' }, { path, line: 0 }, { path, limit: 1.5 }, { path: 7 }]) {
      expect(await said(instance, 'fs/read_text_file', params)).toContain('request: error -32602');
    }
    expect(await said(instance, 'fs/write_text_file', { path })).toContain('request: error -32602');
  });

  it('are not answered without end to an agent that reads no answers', async () => {
    await using owned = await ownedServer();
    const { instance, root } = await instanceWithFiles(owned);
    const big = join(root, 'big');
    await writeFile(big, 'x'.repeat(4_000_000));
    // It asks 100 times for 4 MB and reads nothing until it is told to; then it says how many answers it got.
    const agent = `
      const { existsSync, readSync, writeSync } = require('node:fs');
      const send = (message) => writeSync(1, JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      const say = (text) => send({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
      const answer = (result) => (line) => send({ id: JSON.parse(line).id, result });
      const lines = [];
      let parts = [];
      const read = () => {
        while (lines.length === 0) {
          const chunk = Buffer.alloc(1 << 16);
          const taken = chunk.subarray(0, readSync(0, chunk));
          parts.push(taken);
          if (!taken.includes(10)) continue;
          const whole = Buffer.concat(parts).toString('utf8').split('\\n');
          parts = [Buffer.from(whole.pop())];
          lines.push(...whole);
        }
        return lines.shift();
      };
      answer({ protocolVersion: 1 })(read());
      answer({ sessionId: 's' })(read());
      const prompt = read();
      for (let id = 0; id < 100; id += 1) send({ id, method: 'fs/read_text_file', params: { path: ${JSON.stringify(big)} } });
      say('asked');
      while (!existsSync('go')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      let given = 0, refused = 0;
      for (let id = 0; id < 100; id += 1) JSON.parse(read()).error === undefined ? given += 1 : refused += 1;
      say('given ' + given + ' refused ' + refused);
      answer({ stopReason: 'end_turn' })(prompt);
      read();
    `;
    await instance.start({ command: [process.execPath, '-e', agent] });
    const stream = await instance.attach(0);
    await instance.prompt(1, { step: 'say', text: 'go' });
    // The server has answered what it answers when it tells of what came after.
    await readUntil(stream, (delivered) => textsOf([delivered]).includes('asked'));
    await writeFile(join(root, 'go'), '');
    const [text = ''] = textsOf(await readUntil(stream, isType('turn_ended')));
    const [, given, refused] = (/^given (\d+) refused (\d+)$/.exec(text) ?? []).map(Number);
    expect(Number(given) + Number(refused)).toBe(100);
    // 32 MiB may wait, so the ninth answer of 4 MB is the last.
    expect(given).toBe(9);
  });
});
