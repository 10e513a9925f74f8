import { describe, expect, it } from '@jest/globals';
import { ownAddresses } from '../../src/http/own-addresses.ts';

describe('the addresses of a server', () => {
  it('are, on loopback, its own and the names of loopback, but only its own is an audience', () => {
    const { endpoint, hosts, audiences } = ownAddresses({
      listenHost: 'localhost',
      boundAddress: '127.0.0.1',
      port: 4321,
      interfaceAddresses: ['127.0.0.1', '10.0.0.5'],
    });
    expect(endpoint).toBe('http://127.0.0.1:4321');
    expect([...hosts].toSorted()).toEqual(['127.0.0.1:4321', '[::1]:4321', 'localhost:4321']);
    expect([...audiences]).toEqual(['127.0.0.1:4321']);
  });

  it('are, on a wildcard, those of the machine', () => {
    const { endpoint, audiences } = ownAddresses({
      listenHost: '::',
      boundAddress: '::',
      port: 80,
      interfaceAddresses: ['127.0.0.1', '::1', '10.0.0.5'],
    });
    expect(endpoint).toBe('http://[::1]:80');
    expect([...audiences]).toEqual(['127.0.0.1:80', '[::1]:80', '10.0.0.5:80']);
  });

  it('may leave out the port of HTTP', () => {
    const facts = { listenHost: '127.0.0.1', boundAddress: '127.0.0.1', port: 80, interfaceAddresses: [] };
    expect(ownAddresses(facts).hosts.has('127.0.0.1')).toBe(true);
    expect(ownAddresses({ ...facts, port: 8080 }).hosts.has('127.0.0.1')).toBe(false);
  });
});
