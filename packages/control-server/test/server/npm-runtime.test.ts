import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import { descendants, until, waitForExit } from '@holdfast/testbeds';
import { z } from 'zod';
import { executionKey } from '../../src/npm-runtime/execution-key.ts';
import {
  AGENT,
  agentPackage,
  insteadOfNpm,
  longSleep,
  npmStart,
  npmWorld,
  running,
  snapshot,
  type NpmWorld,
} from '../support/npm-world.ts';
import { isType, readUntil, textsOf, type InstanceOf } from '../support/owned-server.ts';

const specOf = (version: string): string => `${AGENT}@${version}`;
const treeOf = ({ cache }: Pick<NpmWorld, 'cache'>, version: string): string =>
  join(cache, '_npx', executionKey(specOf(version)));

async function repair({ client, instanceId }: InstanceOf, packageSpec = specOf('1.0.0')) {
  return await client.call('repairRuntime', { instanceId, packageSpec });
}

// Other tests of the machine may look for processes at the same time.
const OWN_VERSION = `1.0.${String(process.pid)}`;
const SLEEP = longSleep(1);
const TALKER = `late-talker-${String(process.pid)}`;

/** Where the agent was started and with what, as its program found it. */
const TRACE = `require('node:fs').writeFileSync(process.env.ACME_TRACE, JSON.stringify([process.cwd(), process.env]));`;

describe('an agent that npm runs', () => {
  it('is started outside the workspace, which has no say in what npm does', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage('1.0.0', TRACE));
    const workspace = await world.home.folder('workspace');
    await writeFile(`${workspace}/.npmrc`, 'registry=http://127.0.0.1:9/\ncache=/nowhere/at/all\n');
    await mkdir(`${workspace}/node_modules/@acme/agent`, { recursive: true });
    await writeFile(
      `${workspace}/node_modules/@acme/agent/package.json`,
      JSON.stringify({ name: AGENT, version: '1.0.0', bin: { agent: 'bad.js' } }),
    );
    const instance = await world.instance({
      ACME_TRACE: world.home.path('trace'),
      npm_config_fetch_timeout: '7777',
    });
    const { agentPid } = await instance.start(npmStart('1.0.0'));

    const trace: unknown = JSON.parse(readFileSync(world.home.path('trace'), 'utf8'));
    const [cwd, environment] = z.tuple([z.string(), z.record(z.string(), z.string())]).parse(trace);
    expect(cwd).toBe(world.home.path('npm-runtime'));
    expect(await readdir(cwd, { recursive: true })).toEqual(['node_modules']);
    expect(environment).toMatchObject({
      npm_config_registry: world.registry.url,
      npm_config_fetch_retries: '1',
      npm_config_fetch_timeout: '7777',
    });
    await instance.prompt(1, { step: 'touch', file: 'made-by-the-agent' });
    await until(() => existsSync(`${workspace}/made-by-the-agent`), {
      reason: 'the agent to work in its workspace',
      withinMs: 60_000,
    });

    // npm, a shell and the agent: a stop ends them all.
    const chain = [agentPid, ...descendants(agentPid)];
    expect(chain.length).toBeGreaterThan(2);
    await world.client.call('stopAgent', { instanceId: instance.instanceId });
    for (const pid of chain) await waitForExit(pid, { reason: 'the chain to have ended', withinMs: 60_000 });
  });

  it.each([
    ['npx', '--yes', '--prefer-offline', specOf('1.0.1')],
    ['npx', '--yes', '--prefer-offline', '--registry=http://127.0.0.1:9', specOf('1.0.0')],
    ['sh', '-c', 'true'],
  ])('is started by its own command only, not by %s %s %s', async (...command) => {
    await using world = await npmWorld();
    const instance = await world.instance();
    await expect(instance.start({ ...npmStart('1.0.0'), command })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(
        `must start with npx, --yes, --prefer-offline or --prefer-online, and ${specOf('1.0.0')}`,
      ),
    });
  });

  it('fails by npm’s class, with an advice and none of npm’s words [RUNTIME-002.6]', async () => {
    await using world = await npmWorld();
    const { registry } = world;
    const instance = await world.instance();
    const failure = async (version: string, name = AGENT): Promise<unknown> =>
      await instance.start(npmStart(version, '--prefer-online', name)).catch((error: unknown) => error);
    const classified = (stderrClass: string, code: number | null = 1): unknown =>
      expect.objectContaining({
        code: 'agent_start_failed',
        details: {
          phase: 'initialize',
          exit: { code, signal: null },
          stderrClass,
          advice: expect.stringMatching(/^[^\n]+\.$/),
        },
      });

    registry.publish({ ...agentPackage('1.0.0'), dependencies: { 'acme-dependency': '^2.0.0' } });
    registry.publish({ ...agentPackage('1.0.1'), archive: 'tampered' });
    registry.publish({ ...agentPackage('1.0.2'), os: ['win32'] });
    registry.publish(agentPackage('1.0.3', 'process.exit(3)'));
    registry.publish({ name: '@acme/nothing', version: '1.0.0', files: {} });
    const failures = [
      await failure('1.0.0'),
      await failure('1.0.1'),
      await failure('1.0.2'),
      await failure('1.0.3'),
      await failure('9.9.9'),
      await failure('1.0.0', '@acme/missing'),
      await failure('1.0.0', '@acme/nothing'),
    ];
    registry.mood = 401;
    failures.push(await failure('1.0.3'));
    registry.mood = 503;
    failures.push(await failure('1.0.0', '@acme/other'));
    expect(failures).toEqual([
      classified('npm_broken_dependency'),
      classified('npm_integrity'),
      classified('npm_unsupported'),
      classified('unexplained_exit', 3),
      classified('npm_stale_metadata'),
      classified('npm_not_found'),
      classified('npm_invalid'),
      classified('npm_auth'),
      classified('npm_network'),
    ]);
    const told =
      JSON.stringify(failures.map((error) => [String(error), error])) +
      readFileSync(world.server.logFile, 'utf8');
    for (const secret of ['npm error', 'notarget', registry.url, world.cache, world.home.path('user')]) {
      expect(told).not.toContain(secret);
    }
  });

  it('fails without a class where npm does not run it', async () => {
    await using world = await npmWorld();
    const instance = await world.instance({ SCRIPTED_AGENT_START: '{"exit":3}' });
    await expect(instance.start()).rejects.toMatchObject({
      details: { phase: 'initialize', exit: { code: 3, signal: null } },
    });
    const error: unknown = await instance.start().catch((caught: unknown) => caught);
    expect(JSON.stringify(error)).not.toMatch(/stderrClass|advice/);
  });

  it('fails by class also where npm cannot be run at all, and where the agent refuses', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage('1.0.0'));
    const without = await world.instance({ PATH: '/nowhere' });
    await expect(without.start(npmStart('1.0.0'))).rejects.toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'spawn', exit: null, stderrClass: 'none' },
    });
    const refusing = await world.instance({
      SCRIPTED_AGENT_START: '{"sessionError":{"code":-32603,"message":"no"}}',
    });
    await expect(refusing.start(npmStart('1.0.0'))).rejects.toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'session', stderrClass: 'none', agentError: { code: -32_603 } },
    });
    world.registry.mood = 'silent';
    const waiting = await world.instance();
    await expect(
      waiting.start({ ...npmStart('1.0.1', '--prefer-online'), startBudgetMs: 3000 }),
    ).rejects.toMatchObject({
      code: 'agent_timeout',
      details: {
        phase: 'initialize',
        exit: null,
        stderrClass: 'none',
        advice: expect.stringContaining('reaches its registry'),
      },
    });
  });

  it('waits while another instance installs the same package, and no longer than that one is there', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage(OWN_VERSION));
    const [first, second, third] = [await world.instance(), await world.instance(), await world.instance()];
    world.registry.mood = 'silent';
    const start = async (instance: InstanceOf): Promise<unknown> =>
      await instance.start(npmStart(OWN_VERSION)).catch((error: unknown) => error);
    // What npm calls itself once it runs.
    const npms = (): number => running(`npm exec ${specOf(OWN_VERSION)}`).length;
    const starts = [start(first)];
    await until(() => world.registry.requests('/@acme/agent').length > 0, {
      reason: 'npm to ask the registry',
      withinMs: 60_000,
    });
    starts.push(start(second), start(third));
    for (const instance of [second, third]) {
      await instance.untilIt('it to be starting', ({ status }) => status === 'starting');
    }
    expect(npms()).toBe(1);
    // One that waits is given up without a word to npm; when the one that installs is given up, the next goes.
    await world.client.call('stopAgent', { instanceId: second.instanceId });
    expect(await starts[1]).toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'spawn', stderrClass: 'none' },
    });
    expect(npms()).toBe(1);
    world.registry.mood = 'well';
    await world.client.call('stopAgent', { instanceId: first.instanceId });
    expect(await starts[0]).toMatchObject({ code: 'agent_start_failed', details: { phase: 'initialize' } });
    expect(await starts[2]).toMatchObject({ agent: { name: 'scripted-agent' } });
    // Installed, it is started at any time.
    expect(await Promise.all([start(first), start(second)])).toMatchObject([
      { agent: { name: 'scripted-agent' } },
      { agent: { name: 'scripted-agent' } },
    ]);
  });
});

describe('the repair of a runtime', () => {
  it('removes the tree of exactly that package from the cache of exactly that agent [RUNTIME-002.1] [RUNTIME-002.2] [RUNTIME-002.3]', async () => {
    await using world = await npmWorld();
    const versions = ['1.0.0', '1.0.1', '2.0.0'];
    for (const version of versions) world.registry.publish(agentPackage(version));
    const instance = await world.instance();
    for (const version of versions) {
      await instance.start(npmStart(version));
      await world.client.call('stopAgent', { instanceId: instance.instanceId });
    }
    // The same trees in the caches of others: of the home directory, of another instance, of the workspace.
    const others = [
      world.home.path('user', '.npm'),
      world.home.path('other-cache'),
      world.home.path('workspace', '.npm'),
    ];
    for (const other of others) await cp(world.cache, other, { recursive: true });
    await writeFile(world.home.path('user', '.npmrc'), `cache=${others[1] ?? ''}\n`);
    await writeFile(world.home.path('workspace', '.npmrc'), `cache=${others[2] ?? ''}\n`);
    const before = snapshot(world.home.root);
    const inTree = `npm-cache/_npx/${executionKey(specOf('1.0.1'))}`;
    expect(before).toHaveProperty([`${inTree}/package.json`]);

    expect(await repair(instance, specOf('1.0.1'))).toEqual({
      removed: true,
      executionKey: executionKey(specOf('1.0.1')),
    });
    const kept = Object.entries(before).filter(([path]) => path !== inTree && !path.startsWith(`${inTree}/`));
    const without = ([path]: readonly [string, string]): boolean => !path.startsWith('logs/');
    expect(Object.entries(snapshot(world.home.root)).filter(without)).toEqual(kept.filter(without));
    expect(await repair(instance, specOf('1.0.1'))).toMatchObject({ removed: false });
    const { environment } = await world.client.call('getReconstruction', { instanceId: instance.instanceId });
    expect(environment).toMatchObject({
      npm_config_registry: world.registry.url,
      npm_config_cache: world.cache,
    });
    await instance.start(npmStart('1.0.1', '--prefer-online'));
  });

  it('mends what npm’s stale metadata broke', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage('1.0.0'));
    const instance = await world.instance();
    await instance.start(npmStart('1.0.0'));
    await world.client.call('stopAgent', { instanceId: instance.instanceId });
    world.registry.publish(agentPackage('1.0.1'));
    await expect(instance.start(npmStart('1.0.1'))).rejects.toMatchObject({
      code: 'agent_start_failed',
      details: { phase: 'initialize', exit: { code: 1, signal: null }, stderrClass: 'npm_stale_metadata' },
    });
    expect(await repair(instance, specOf('1.0.1'))).toMatchObject({ removed: false });
    await instance.start(npmStart('1.0.1', '--prefer-online'));
    const { status } = await instance.describe();
    expect(status).toBe('ready');
  });

  it('refuses what another agent of the server runs from, and only that', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage('1.0.0'));
    const [user, instance, elsewhere] = [
      await world.instance(),
      await world.instance(),
      await world.instance({ npm_config_cache: world.home.path('other-cache') }),
    ];
    await user.start(npmStart('1.0.0'));
    const before = snapshot(treeOf(world, '1.0.0'));
    await expect(repair(instance)).rejects.toMatchObject({
      code: 'runtime_in_use',
      details: { executionKey: executionKey(specOf('1.0.0')) },
    });
    expect(snapshot(treeOf(world, '1.0.0'))).toEqual(before);
    expect(await repair(instance, specOf('1.0.1'))).toMatchObject({ removed: false });
    // The same package in another cache is another tree.
    await elsewhere.start(npmStart('1.0.0'));
    await world.client.call('stopAgent', { instanceId: elsewhere.instanceId });
    expect(await repair(elsewhere)).toMatchObject({ removed: true });
    expect(snapshot(treeOf(world, '1.0.0'))).toEqual(before);
    // An agent that ends by itself, or is stopped, uses it no longer.
    await user.prompt(1, { step: 'crash', exitCode: 4 });
    await user.untilIt('its agent to have ended', ({ status }) => status === 'failed');
    expect(await repair(instance)).toMatchObject({ removed: true });
  });

  it('needs the place of the agent for itself', async () => {
    await using world = await npmWorld();
    world.registry.publish(agentPackage('1.0.0'));
    const instance = await world.instance();
    await instance.start(npmStart('1.0.0'));
    await expect(repair(instance)).rejects.toMatchObject({ code: 'agent_already_running' });
    await world.client.call('stopAgent', { instanceId: instance.instanceId });
    const PATH = await insteadOfNpm(world.home.path('bin'), SLEEP);
    const hanging = await world.instance({ PATH });
    const repairing = repair(hanging).catch((error: unknown) => error);
    await until(() => running(SLEEP).length > 0, { reason: 'npm to be asked', withinMs: 60_000 });
    await expect(hanging.start(npmStart('1.0.0'))).rejects.toMatchObject({
      code: 'agent_already_running',
      message: expect.stringContaining('repairs the runtime'),
    });
    await expect(repair(hanging)).rejects.toMatchObject({ code: 'agent_already_running' });
    // A start of the same package elsewhere waits for it.
    const started = instance.start(npmStart('1.0.0'));
    await world.client.call('stopAgent', { instanceId: hanging.instanceId });
    expect(await repairing).toMatchObject({ code: 'agent_not_running' });
    expect(await started).toMatchObject({ agent: { name: 'scripted-agent' } });
  });

  it.each([
    ['is stopped', 'agent_not_running'],
    ['is deleted', 'instance_not_found'],
    ['goes with its server', 'shutting_down'],
  ] as const)(
    'is given up when its instance %s, and nothing is removed [RUNTIME-002.5]',
    async (how, code) => {
      await using world = await npmWorld();
      world.registry.publish(agentPackage('1.0.0'));
      const maker = await world.instance();
      await maker.start(npmStart('1.0.0'));
      await world.client.call('stopAgent', { instanceId: maker.instanceId });
      const before = snapshot(world.cache);
      const PATH = await insteadOfNpm(world.home.path('bin'), `${SLEEP}; echo ${world.cache}`);
      const instance = await world.instance({ PATH });
      const { instanceId } = instance;
      const repairing = repair(instance).catch((error: unknown) => error);
      await until(() => running(SLEEP).length > 0, { reason: 'npm to be asked', withinMs: 60_000 });
      if (how === 'is stopped') await world.client.call('stopAgent', { instanceId });
      else if (how === 'is deleted') await world.client.call('deleteInstance', { instanceId });
      else await world.client.call('shutdown', {});
      expect(await repairing).toMatchObject({ code });
      // Killed before the answer; the system may take a moment to bury it.
      await until(() => running(SLEEP).length === 0, { reason: 'npm to be gone', withinMs: 60_000 });
      expect(snapshot(world.cache)).toEqual(before);
    },
  );

  it('takes exact packages only, and neither a path nor a command [RUNTIME-002.4] [RUNTIME-002.6]', async () => {
    await using world = await npmWorld();
    const { client } = world;
    const { instanceId } = await world.instance();
    for (const packageSpec of [
      '',
      AGENT,
      `${AGENT}@latest`,
      `${AGENT}@^1.0.0`,
      '../x@1.0.0',
      '/etc@1.0.0',
      'a@1.0.0\0',
      'x'.repeat(9000),
    ]) {
      const error: unknown = await client
        .call('repairRuntime', { instanceId, packageSpec })
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({
        code: 'invalid_package_spec',
        message: expect.stringContaining('<package>@<exact version>'),
      });
      expect(String(error).length).toBeLessThan(600);
    }
    for (const more of [{ path: '/etc' }, { cache: '/etc' }, { command: ['rm'] }, { executionKey: '..' }]) {
      const call = client.call('repairRuntime', { instanceId, packageSpec: specOf('1.0.0'), ...more });
      await expect(call).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('refuses a cache that is none, and tells of no path and no word of npm [RUNTIME-002.4] [RUNTIME-002.6]', async () => {
    await using world = await npmWorld();
    const user = await world.home.folder('user');
    const key = executionKey(specOf('1.0.0'));
    await mkdir(world.home.path('real', '_npx', key), { recursive: true });
    await symlink(world.home.path('real'), world.home.path('link'));
    await mkdir(world.home.path('linked-npx'));
    await symlink(world.home.path('real', '_npx'), world.home.path('linked-npx', '_npx'));
    await mkdir(world.home.path('linked-tree', '_npx'), { recursive: true });
    await symlink(world.home.path('real', '_npx', key), world.home.path('linked-tree', '_npx', key));
    await writeFile(world.home.path('file'), '');
    const answers: Array<readonly [string, string]> = [
      ['/', 'unsafe_cache_root'],
      [user, 'unsafe_cache_root'],
      [world.home.root, 'unsafe_cache_root'],
      [world.home.path('link'), 'unsafe_cache_root'],
      [world.home.path('linked-npx'), 'unsafe_cache_root'],
      [world.home.path('linked-tree'), 'unsafe_cache_root'],
      [world.home.path('file'), 'unsafe_cache_root'],
      ['relative/../..', 'unsafe_cache_root'],
      ['', 'unsafe_cache_root'],
      [`${user}\nsecond line`, 'npm_unavailable'],
    ];
    const before = snapshot(world.home.path('real'));
    const errors: unknown[] = [];
    for (const [answer, code] of answers) {
      const script =
        code === 'npm_unavailable' ? `echo '${answer}' >&2; echo '${answer}'; exit 9` : `echo '${answer}'`;
      const PATH = await insteadOfNpm(world.home.path('bin', String(errors.length)), script);
      const error: unknown = await repair(await world.instance({ PATH })).catch((caught: unknown) => caught);
      expect([answer, error]).toEqual([answer, expect.objectContaining({ code })]);
      errors.push(error);
    }
    expect(snapshot(world.home.path('real'))).toEqual(before);
    const told =
      JSON.stringify(errors.map((error) => [String(error), error])) +
      readFileSync(world.server.logFile, 'utf8').replaceAll(/^.*the server listens.*$/gm, '');
    expect(told).not.toContain(world.home.root);
    expect(told).not.toContain('second line');
  });
});

it('lets nothing late of a failed child reach its replacement [RUNTIME-002.6]', async () => {
  await using world = await npmWorld();
  // The first start leaves a child behind, without marks and in a session of its own, that talks on as if it were the agent.
  const talker = `
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    process.stdout.on('error', () => process.exit());
    setInterval(() => {
      const params = { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'late' } } };
      say({ method: 'session/update', params });
      say({ id: 7, error: { code: 1, message: 'late' } });
    }, 20);`;
  const first = `
    const { existsSync, writeFileSync } = require('node:fs');
    if (!existsSync(process.env.ACME_TRACE)) {
      writeFileSync(process.env.ACME_TRACE, '');
      const { spawn } = require('node:child_process');
      spawn(process.execPath, ['-e', ${JSON.stringify(talker)}, '${TALKER}'], { detached: true, env: {}, stdio: ['ignore', 'inherit', 'ignore'] }).unref();
      setTimeout(() => process.exit(1), 300);
    } else import(AGENT);`;
  const [, agent = ''] = scriptedAgentCommand();
  const program = `#!/usr/bin/env node\n${first.replace('AGENT', JSON.stringify(agent))}\n`;
  world.registry.publish({ ...agentPackage('1.0.1'), files: { 'cli.js': program } });
  const instance = await world.instance({ ACME_TRACE: world.home.path('trace') });
  const stream = await instance.attach(0);
  const failed: unknown = await instance.start(npmStart('1.0.1')).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 'agent_start_failed',
    details: { phase: 'initialize', exit: { code: 1, signal: null }, stderrClass: 'unexplained_exit' },
  });
  await repair(instance, specOf('1.0.1'));
  await instance.start(npmStart('1.0.1', '--prefer-online'));
  await instance.prompt(1, { step: 'say', text: 'from the replacement' });
  const events = await readUntil(stream, isType('turn_ended'));
  const fromReplacement = events.slice(events.findIndex(isType('turn_started')));
  expect(textsOf(fromReplacement)).toEqual(['from the replacement']);
  expect(fromReplacement.at(-1)).toMatchObject({ event: { outcome: { kind: 'completed' } } });
  await until(() => running(TALKER).length === 0, {
    reason: 'the child that talks on to notice that nobody reads',
    withinMs: 60_000,
  });
});
