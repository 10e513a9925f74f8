import { describe, expect, it } from '@jest/globals';
import { ControlClient } from '@holdfast/control-protocol/client';
import { startProgram, testHome, waitForExit } from '@holdfast/testbeds';
import { z } from 'zod';
import type { OwnershipStep } from '../../src/index.ts';
import { dyingCommand } from '../support/command-server.ts';
import { InstanceOf, NONCE, ownedServer } from '../support/owned-server.ts';

const NO_ANSWER = { code: 'no_answer' };

/** A server that answers nothing at the steps that are put into the set. */
async function serverThatBreaksAt() {
  const breaksAt = new Set<OwnershipStep>();
  const owned = await ownedServer({
    onOwnershipStep: (step) => {
      if (breaksAt.has(step)) throw new Error('no answer here');
    },
  });
  return { owned, breaksAt };
}

describe('an answer that is lost', () => {
  it('before the rotation leaves everything as it was, after it the rotation is replayed [OWNERSHIP-002.7] [OWNERSHIP-002.10]', async () => {
    const { owned, breaksAt } = await serverThatBreaksAt();
    await using _ = owned;
    const first = owned.client;
    breaksAt.add('rotating');
    await expect(first.call('rotate', {})).rejects.toMatchObject(NO_ANSWER);
    expect(await first.call('getOwnership', {})).toMatchObject({ rotationId: 1, confirmed: true });
    breaksAt.clear();
    breaksAt.add('rotated');
    await expect(first.call('rotate', {})).rejects.toMatchObject(NO_ANSWER);
    await expect(first.call('rotate', {})).rejects.toMatchObject(NO_ANSWER);
    breaksAt.clear();
    expect(await first.call('rotate', {})).toMatchObject({ rotationId: 2, replayed: true });
  });

  it('before the confirmation leaves both credentials good, after it the confirmation is repeated [OWNERSHIP-002.6] [OWNERSHIP-002.7]', async () => {
    const { owned, breaksAt } = await serverThatBreaksAt();
    await using _ = owned;
    const first = owned.client;
    const second = first.withCredential((await first.call('rotate', {})).credential);
    breaksAt.add('confirming');
    await expect(second.call('confirm', { rotationId: 2 })).rejects.toMatchObject(NO_ANSWER);
    breaksAt.clear();
    expect(await first.call('rotate', {})).toMatchObject({ rotationId: 2, replayed: true });
    breaksAt.add('confirmed');
    await expect(second.call('confirm', { rotationId: 2 })).rejects.toMatchObject(NO_ANSWER);
    breaksAt.clear();
    expect(await second.call('confirm', { rotationId: 2 })).toEqual({ rotationId: 2, effective: false });
    await expect(first.call('rotate', {})).rejects.toMatchObject({ code: 'credential_unknown' });
  });
});

describe('a server that is killed', () => {
  it.each(['bootstrapped', 'rotating', 'rotated', 'confirming', 'confirmed'] as const)(
    'once it was %s answers nothing, is gone, and leaves no agent behind',
    async (step) => {
      await using home = await testHome();
      await using program = await startProgram([...dyingCommand(step), '--home', home.root], {
        env: { NODE_OPTIONS: undefined },
      });
      program.write(`{"nonce":"${NONCE}"}\n`);
      const line: unknown = JSON.parse(await program.nextLine('endpoint', { withinMs: 60_000 }));
      const { endpoint } = z.object({ endpoint: z.string() }).parse(line);
      const stranger = new ControlClient({ endpoint, timeoutMs: 60_000 });
      const agents: number[] = [];
      const owning = async (): Promise<void> => {
        const { credential } = await stranger.call('bootstrap', { nonce: NONCE });
        const first = stranger.withCredential(credential);
        const instance = await InstanceOf.create({ client: first, home });
        agents.push((await instance.start()).agentPid);
        const rotation = await first.call('rotate', {});
        await first.withCredential(rotation.credential).call('confirm', { rotationId: rotation.rotationId });
      };
      await expect(owning()).rejects.toMatchObject(NO_ANSWER);
      expect(await program.exited).toEqual({ exitCode: null, signal: 'SIGKILL' });
      await expect(stranger.call('getIdentity', {})).rejects.toMatchObject(NO_ANSWER);
      expect(agents).toHaveLength(step === 'bootstrapped' ? 0 : 1);
      for (const pid of agents) await waitForExit(pid, { withinMs: 60_000, reason: 'its server is gone' });
    },
  );
});
