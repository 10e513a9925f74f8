import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { CAPABILITIES, missingCapabilities, ownershipProof } from '@holdfast/control-protocol';
import { processIsAlive, testHome } from '@holdfast/testbeds';
import { EXIT_CODES } from '../../src/index.ts';
import { commandServer, otherCapabilitiesCommand } from '../support/command-server.ts';
import { InstanceOf } from '../support/owned-server.ts';

describe('a server of another version', () => {
  it.each([[[]], [['events.v2', 'files.v1']]])(
    'that offers %j still tells its identity, proves itself, hands ownership over and shuts down [OWNERSHIP-004.1] [OWNERSHIP-004.6]',
    async (capabilities) => {
      await using home = await testHome();
      await using server = await commandServer(home, { command: otherCapabilitiesCommand(capabilities) });
      const { agentPid } = await (await InstanceOf.create({ client: server.client, home })).start();
      const identity = await server.stranger.call('getIdentity', {});
      expect(identity.capabilities).toEqual(capabilities);
      expect(missingCapabilities(CAPABILITIES, identity.capabilities)).not.toEqual([]);

      const { credential } = await server.client.call('rotate', {});
      const challenge = randomBytes(32).toString('base64url');
      const { audience } = server.stranger;
      const { proofs } = await server.stranger.call('proveOwnership', { challenge, audience });
      const facts = { serverId: identity.serverId, audience, challenge };
      expect(proofs[0]?.proof).toBe(await ownershipProof({ ...facts, credential }));
      expect(await server.client.call('shutdown', {})).toEqual({ stopping: true, instances: 1 });
      expect(await server.program.exited).toEqual({ exitCode: EXIT_CODES.stopped, signal: null });
      expect(processIsAlive(agentPid)).toBe(false);
    },
  );
});
