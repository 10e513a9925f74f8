import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { runProgram, testHome } from '@holdfast/testbeds';
import { EXIT_CODES, controlServerCommand, startControlServer } from '../../src/index.ts';
import { commandServer } from '../support/command-server.ts';
import { InstanceOf, NONCE, SETTINGS } from '../support/owned-server.ts';

const VARIABLE = 'KANDEV_ACP_DETACHED_EVENT_LIMIT';

describe('the limit of events of a detached instance', () => {
  it.each(['0', '10001', '-1', '+5', '1.5', '1e3', '0x10', 'ten', '5 events', ' ', '', '９'])(
    'is not %j: the command ends with code 2 and names value, source and what is accepted [SURVIVAL-001.8]',
    async (value) => {
      await using home = await testHome('event-limit');
      const result = await runProgram([...controlServerCommand(), '--home', home.path('home')], {
        env: { NODE_OPTIONS: undefined, [VARIABLE]: value },
        input: `{"nonce":"${NONCE}"}\n`,
        timeoutMs: 60_000,
      });
      expect(result).toMatchObject({ exitCode: EXIT_CODES.notAccepted, stdout: '' });
      expect(result.stderr).toBe(
        `holdfast-control-server: agentctl.detachedEventLimit = ${JSON.stringify(value)} ` +
          `(from environment ${VARIABLE}) is not accepted; it must be a whole number from 1 to 10000\n`,
      );
      expect(existsSync(home.path('home'))).toBe(false);
    },
  );

  it.each([0, 10_001, 1.5, Number.NaN])('is not %d in a server of this process either', async (value) => {
    await using home = await testHome('event-limit');
    const starting = startControlServer({
      home: home.path('home'),
      nonce: null,
      settings: { ...SETTINGS, detachedEventLimit: value },
      environment: {},
    });
    await expect(starting).rejects.toMatchObject({
      code: 'setting_not_accepted',
      setting: 'agentctl.detachedEventLimit',
      accepted: 'a whole number from 1 to 10000',
    });
    expect(existsSync(home.path('home'))).toBe(false);
  });

  it.each([1, 10_000])('may be %d, and holds', async (limit) => {
    await using home = await testHome('event-limit');
    await using server = await commandServer(home, { env: { [VARIABLE]: String(limit) } });
    const instance = await InstanceOf.create({ client: server.client, home });
    await instance.start();
    await instance.prompt(1, { step: 'flood', count: limit + 10, bytes: 20 });
    await instance.untilIt('the agent to be paused', ({ journal }) => journal.paused);
    expect((await instance.describe()).journal).toEqual({
      nextSeq: limit + 1,
      unacknowledged: limit,
      paused: true,
    });
  });
});
