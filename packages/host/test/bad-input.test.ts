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
  return anything({ agents: given });
}

function anything(given: unknown): never {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this is the point
  return given as never;
}

describe('createHost with input that it cannot take', () => {
  it.each<[string, Partial<HostOptions>, string]>([
    ['no home', { home: '' }, "home = '' is not accepted; it must be the path of a directory"],
    ['no runtime', { runtimes: [] }, 'runtimes = [] is not accepted'],
    ['runtimes that are none', anything({ runtimes: [standalone] }), 'it must be a list of runtimes'],
    ['no list of runtimes', anything({ runtimes: undefined }), 'runtimes = undefined is not accepted'],
    ['no agents', anything({ agents: null }), 'agents = null is not accepted; it must be an object'],
    ['an agent that is none', untyped({ a: 'x' }), "agents.a = 'x' is not accepted; it must be an object"],
    [
      'an option of another name',
      anything({ survial: 'on' }),
      "options = 'survial' is not accepted; it must be one of home, ledger, ",
    ],
    [
      'an agent’s option of another name',
      untyped({ a: { command: ['x'], aproval: 'allow' } }),
      "agents.a = 'aproval' is not accepted; it must be one of command, ",
    ],
    [
      'a setting of another name',
      anything({ settings: { recoveryDeadline: '1s' } }),
      "settings = 'recoveryDeadline' is not accepted; it must be one of recoveryDeadlineMs, ",
    ],
    ['a ledger that is no text', anything({ ledger: 5 }), 'ledger = 5 is not accepted; it must be a text'],
    ['a shared lock that is no text', anything({ sharedLock: 5 }), 'sharedLock = 5 is not accepted'],
    [
      'a listener that is none',
      anything({ onEvent: 'x' }),
      "onEvent = 'x' is not accepted; it must be a function",
    ],
    [
      'a signal that is none',
      anything({ signal: {} }),
      'signal = {} is not accepted; it must be an AbortSignal',
    ],
    [
      'an approval that is none',
      untyped({ a: { command: ['x'], approval: 'always' } }),
      'agents.a.approval = \'always\' is not accepted; it must be "ask" or "allow"',
    ],
    [
      'an environment that is no environment, its values left out',
      untyped({ a: { command: ['x'], environment: { KEY: 7 } } }),
      "agents.a.environment = [ 'KEY' ] is not accepted; it must be an object of texts",
    ],
    [
      'MCP servers that are none, left out',
      untyped({ a: { command: ['x'], mcpServers: ['secret'] } }),
      "agents.a.mcpServers = 'object' is not accepted; it must be a list of objects",
    ],
    [
      'a mode that is none',
      untyped({ a: { command: ['x'], modeId: '' } }),
      "agents.a.modeId = '' is not accepted; it must be an id that the agent offers",
    ],
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
    for (const [given, message] of [
      [undefined, 'options = undefined is not accepted'],
      [{ ...session, workspace: undefined }, 'workspace = undefined is not accepted'],
      [{ ...session, workspace: { kind: 'worktree' } }, "workspace.kind = 'worktree' is not accepted"],
      [{ ...session, workspace: { kind: 'local' } }, 'workspace.path = undefined is not accepted'],
      [{ ...session, runId: 7 }, 'runId = 7 is not accepted; it must be a text'],
      [{ ...session, taskEnvironmentId: '' }, "taskEnvironmentId = '' is not accepted"],
      [{ ...session, metadata: 'x' }, "metadata = 'x' is not accepted; it must be an object"],
      [{ ...session, signal: 'x' }, "signal = 'x' is not accepted; it must be an AbortSignal"],
    ] as const) {
      await expect(host.sessions.create(anything(given))).rejects.toThrow(message);
    }
    expect(await host.sessions.list()).toEqual([]);
    await expect(host.sessions.get(anything(undefined))).rejects.toThrow('sessionId = undefined');
    await expect(host.turns.get(anything(5))).rejects.toThrow('turnId = 5 is not accepted');
    await expect(host.close(anything(undefined))).rejects.toThrow('options = undefined is not accepted');
    await expect(host.close(anything({ agents: 'maybe' }))).rejects.toThrow('it must be "keep" or "stop"');
    expect(await host.sessions.get('none')).toBeNull();
    expect(await host.turns.get('none')).toBeNull();
  });

  it('looks at a prompt before it cancels, starts or waits for anything', async () => {
    await using home = await testHome('prompts');
    await using host = await createHost({
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
    const replace = { replace: true };
    for (const [content, options, message] of [
      [undefined, replace, "content = 'undefined' is not accepted; it must be a text, or a list"],
      [[], replace, "content = '0 blocks' is not accepted"],
      [[{ type: 'text' }, { kind: 'x' }], replace, "content.1 = '2 blocks' is not accepted"],
      ['x', { ...replace, runId: 5 }, 'runId = 5 is not accepted'],
      ['x', null, 'options = null is not accepted'],
      ['x', { ...replace, signal: 'x' }, "signal = 'x' is not accepted"],
    ] as const) {
      await expect(session.prompt(anything(content), anything(options))).rejects.toThrow(message);
      await expect(session.promptNext(anything(content), anything(options))).rejects.toThrow(message);
    }
    expect(() => session.events({ after: -1 })).toThrow('after = -1 is not accepted');
    await expect(session.setMode(anything(undefined))).rejects.toThrow(
      'modeId = undefined is not accepted; it must be an id that the agent offers',
    );
    expect(await host.turns.list(session.id)).toMatchObject([{ turnId: turn.id, state: 'running' }]);
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
    const silent = 'script: {"steps":[{"step":"silence"}]}';
    const turn = await session.prompt(silent);
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
    for (const late of [
      async () => await session.record(),
      async () => await session.liveness(),
      async () => await session.cancel(),
      async () => await session.files.list(),
      async () => await session.permissions.answer('p', { cancelled: true }),
      async () => await host.sessions.get(session.id),
      async () => await host.sessions.list(),
      async () => await host.turns.get(turn.id),
      async () => await host.turns.list(session.id),
      async () => await host.tasks.get('t'),
      async () => await host.tasks.list(),
      async () => await host.reconcile(),
      async () => await host.serverMetrics(),
    ]) {
      await expect(late()).rejects.toMatchObject({ code: 'host_closed' });
    }
  });
});
