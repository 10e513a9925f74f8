import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { standalone } from '@holdfast/executor-standalone';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';
import { listProcesses, testHome } from '@holdfast/testbeds';
import { createHost, type HostOptions } from '../src/index.ts';

const agents = { scripted: { command: scriptedAgentCommand() } };

/** What the types do not let pass, but JavaScript does. */
function untyped(given: unknown): Partial<HostOptions> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this is the point
  return { agents: given } as Partial<HostOptions>;
}

describe('createHost with input that it cannot take', () => {
  it.each<[string, Partial<HostOptions>, string]>([
    ['no home', { home: '' }, "home = '' is not accepted; it must be the path of a directory"],
    ['no runtime', { runtimes: [] }, 'runtimes = [] is not accepted'],
    ['a runtime twice', { runtimes: [standalone(), standalone()] }, 'each kind once'],
    ['another database', { ledger: 'mysql://db' }, "ledger = 'mysql://db' is not accepted"],
    [
      'another database, its password left out',
      { ledger: 'mysql://user:word@db/main?password=word' },
      'ledger = \'mysql://…@db/main?…\' is not accepted; it must be a file path, a "sqlite:" URL or a "postgres:" URL',
    ],
    [
      'a database that is no URL, its password left out',
      { ledger: 'postgres:user:word@db' },
      "ledger = 'postgres:…@db' is not accepted",
    ],
    [
      'a shared lock elsewhere, its password left out',
      { sharedLock: 'mysql://user:word@db' },
      'sharedLock = \'mysql://…@db\' is not accepted; it must be a "postgres:" URL',
    ],
    [
      'a cancel limit that is no time',
      { cancelLimitMs: 0 },
      'cancelLimitMs = 0 is not accepted; it must be a whole number from 1 to 3600000',
    ],
    ['an agent of an odd name', { agents: { 'a b': { command: ['x'] } } }, "agents = 'a b' is not accepted"],
    [
      'an agent without a command',
      { agents: { a: { command: [] } } },
      'agents.a.command = [] is not accepted',
    ],
    [
      'a memory limit that no agent could keep',
      { agents: { a: { command: ['x'], memoryLimitBytes: 512 } } },
      'agents.a.memoryLimitBytes = 512 is not accepted; it must be a whole number of bytes, at least 16777216',
    ],
    [
      'an agent with a command and a package',
      untyped({ a: { command: ['x'], npm: { package: 'x', version: '1.0.0' } } }),
      'agents.a = [ \'command\', \'npm\' ] is not accepted; it must be given either "command" or "npm"',
    ],
    [
      'an agent with neither, its environment left out',
      untyped({ a: { environment: { KEY: 'word' } } }),
      "agents.a = [ 'environment' ] is not accepted",
    ],
    [
      'a package that is its spec',
      untyped({ a: { npm: 'x@1.0.0' } }),
      'agents.a.npm = \'x@1.0.0\' is not accepted; it must be an object with "package" and "version"',
    ],
    ['a package that is null', untyped({ a: { npm: null } }), 'agents.a.npm = null is not accepted'],
    [
      'a package with a range',
      { agents: { a: { npm: { package: 'x', version: '^1.0.0' } } } },
      "agents.a.npm.version = '^1.0.0' is not accepted; it must be one exact version, e.g. 1.2.3: no range and no tag",
    ],
    [
      'a package with a tag',
      { agents: { a: { npm: { package: 'x', version: 'latest' } } } },
      "agents.a.npm.version = 'latest' is not accepted",
    ],
    [
      'a package by its path',
      { agents: { a: { npm: { package: '../x', version: '1.0.0' } } } },
      "agents.a.npm.package = '../x' is not accepted; it must be the name of a package in a registry",
    ],
    [
      'a package whose name holds a version',
      { agents: { a: { npm: { package: 'x@2.0.0', version: '1.0.0' } } } },
      "agents.a.npm.package = 'x@2.0.0' is not accepted",
    ],
    [
      'arguments that are no list',
      untyped({ a: { npm: { package: 'x', version: '1.0.0', args: 'acp' } } }),
      "agents.a.npm.args = 'acp' is not accepted; it must be a list of strings",
    ],
    [
      'a start budget of no time',
      { agents: { a: { command: ['x'], startBudgetMs: 10 } } },
      'agents.a.startBudgetMs = 10 is not accepted; it must be whole milliseconds from 1000 to 3600000',
    ],
    [
      'a setting out of range',
      { settings: { detachedEventLimit: 0 } },
      'agentctl.detachedEventLimit = "0" (from option detachedEventLimit) is not accepted; it must be a whole number from 1 to 10000',
    ],
    [
      'an environment that says nonsense',
      { environment: { KANDEV_ACP_UNOWNED_PERIOD: 'never' } },
      'agentctl.unownedPeriod = "never" (from environment KANDEV_ACP_UNOWNED_PERIOD) is not accepted',
    ],
  ])('says what is wrong and touches nothing: %s', async (_, given, message) => {
    await using home = await testHome('input');
    const options = { home: home.path('home'), runtimes: [standalone()], agents, environment: {}, ...given };
    await expect(createHost(options)).rejects.toThrow(message);
    expect(existsSync(home.path('home'))).toBe(false);
  });

  it('says so when the home cannot be used', async () => {
    await using home = await testHome('unwritable');
    await writeFile(home.path('file'), '');
    await expect(
      createHost({ home: home.path('file', 'home'), runtimes: [standalone()], agents, environment: {} }),
    ).rejects.toMatchObject({ code: 'home_unusable', home: home.path('file', 'home') });
  });

  it('leaves nothing running and nothing locked when the ledger is no database', async () => {
    await using home = await testHome('junk');
    await home.folder('home');
    await writeFile(
      home.path('home', 'ledger.db'),
      'this is not a database, whatever its name says. '.repeat(100),
    );
    const options = { home: home.path('home'), runtimes: [standalone()], agents, environment: {} };
    await expect(createHost(options)).rejects.toMatchObject({ code: 'ledger_unavailable' });
    // Not the lock: the next attempt fails for the same reason.
    await expect(createHost(options)).rejects.toMatchObject({ code: 'ledger_unavailable' });
    expect(listProcesses().filter(({ commandLine }) => commandLine.includes(home.root))).toEqual([]);
    expect(await readdir(home.path('home'))).not.toContain('logs');
  });
});

describe('a host', () => {
  it('refuses sessions that it cannot make, and records nothing of them', async () => {
    await using home = await testHome('sessions');
    await using host = await createHost({
      home: home.path('home'),
      runtimes: [standalone()],
      agents,
      environment: {},
    });
    const session = {
      taskId: 't',
      agent: 'scripted',
      runtime: 'standalone',
      workspace: { kind: 'local', path: home.root },
    } as const;
    await expect(host.sessions.create({ ...session, agent: 'x' })).rejects.toThrow(
      "agent = 'x' is not accepted; it must be one of the host's agents: scripted",
    );
    await expect(host.sessions.create({ ...session, runtime: 'moon' })).rejects.toThrow(
      "host's runtimes: standalone",
    );
    await expect(host.sessions.create({ ...session, sessionId: '../x' })).rejects.toThrow(
      "sessionId = '../x'",
    );
    await expect(
      host.sessions.create({ ...session, workspace: { kind: 'local', path: home.path('none') } }),
    ).rejects.toThrow('the absolute path of an existing directory');
    expect(await host.sessions.list()).toEqual([]);
    expect(await host.sessions.get('none')).toBeNull();
    expect(await host.turns.get('none')).toBeNull();
  });

  it('is closed once, whoever asks, and lets nobody wait', async () => {
    await using home = await testHome('closing');
    const host = await createHost({
      home: home.path('home'),
      runtimes: [standalone()],
      agents,
      environment: {},
    });
    const session = await host.sessions.create({
      taskId: 't',
      agent: 'scripted',
      runtime: 'standalone',
      workspace: { kind: 'local', path: home.root },
    });
    const turn = await session.prompt('script: {"steps":[{"step":"silence"}]}');
    const outcome = turn.outcome;
    await Promise.all([host.close({ agents: 'stop' }), host.close({ agents: 'keep' })]);
    await expect(outcome).rejects.toMatchObject({ code: 'host_closed' });
    await expect(turn.outcome).rejects.toMatchObject({ code: 'host_closed' });
    await expect(session.prompt('more')).rejects.toMatchObject({ code: 'host_closed' });
    const { signal } = new AbortController();
    await expect(session.prompt('more', { signal })).rejects.toMatchObject({ code: 'host_closed' });
    const events: unknown[] = [];
    for await (const event of session.events()) events.push(event);
    expect(events).toEqual([]);
  });
});
