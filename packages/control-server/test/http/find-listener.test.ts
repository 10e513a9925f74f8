import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { freePort, runProgram, testHome } from '@holdfast/testbeds';
import { findListener } from '../../src/http/find-listener.ts';
import { CannotListenError, EXIT_CODES, controlServerCommand } from '../../src/index.ts';
import { systemClock } from '../../src/ports/clock.ts';
import { NONCE, ownedServer } from '../support/owned-server.ts';

interface Squatter extends AsyncDisposable {
  readonly port: number;
}

async function squatterAt(host: string): Promise<Squatter> {
  const server: Server = createServer((socket) => socket.on('error', () => undefined).resume());
  server.listen({ host, port: 0, ipv6Only: host === '::1' });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the squatter has no port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Some machines, containers most of all, have no IPv6, not even to themselves. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
const isHere = ([host]: readonly [string, ...unknown[]]): boolean => hasIpv6 || !host.includes(':');

const HOSTS = (
  [
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '127.0.0.1'],
  ] as const
).filter(isHere);

const REACHED = (
  [
    ['127.0.0.1', ['127.0.0.1']],
    ['::1', ['::1']],
    ['0.0.0.0', ['127.0.0.1']],
    ['::', ['127.0.0.1', '::1']],
  ] as const
).filter(isHere);

describe('a port with somebody on it', () => {
  it.each(HOSTS)('is not free: a listener on %s is found at %s [OWNERSHIP-001.7]', async (host, foundAt) => {
    await using squatter = await squatterAt(host);
    expect(await findListener(squatter.port, systemClock())).toBe(foundAt);
  });

  it('is free when nobody is', async () => {
    expect(await findListener(await freePort(), systemClock())).toBeNull();
  });

  it.each(HOSTS)(
    'is not taken from a listener on %s, which the command says at once [OWNERSHIP-001.7]',
    async (host, foundAt) => {
      await using squatter = await squatterAt(host);
      await using home = await testHome();
      const args = ['--home', home.root, '--port', String(squatter.port)];
      const result = await runProgram([...controlServerCommand(), ...args], {
        env: { NODE_OPTIONS: undefined },
        input: `{"nonce":"${NONCE}"}\n`,
        timeoutMs: 60_000,
      });
      expect(result).toMatchObject({ exitCode: EXIT_CODES.cannotListen, stdout: '' });
      expect(result.stderr).toContain(
        `Cannot listen on 127.0.0.1 port ${String(squatter.port)}: somebody listens there, at ${foundAt}.`,
      );
    },
  );

  it('cannot be told from another failure by its class, but by what it says', async () => {
    await expect(ownedServer({ listenHost: '203.0.113.1', port: await freePort() })).rejects.toMatchObject({
      name: CannotListenError.name,
      code: 'cannot_listen',
      message: expect.stringContaining('EADDRNOTAVAIL'),
    });
  });
});

describe('a server on a port that it was given', () => {
  it.each(REACHED)('listens on %s and is reached there', async (listenHost, reachedAt) => {
    const port = await freePort();
    await using owned = await ownedServer({ listenHost, port });
    expect(new URL(owned.server.endpoint).port).toBe(String(port));
    expect(await owned.client.call('claim', {})).toMatchObject({ expiresInMs: expect.any(Number) });
    for (const host of reachedAt) {
      const socket = connect(port, host);
      await once(socket, 'connect');
      socket.destroy();
    }
    await expect(ownedServer({ listenHost, port })).rejects.toBeInstanceOf(CannotListenError);
  });
});
