import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import type { PermissionRequest } from '@holdfast/control-protocol';
import {
  descendants,
  listProcesses,
  processStartTime,
  testHome,
  until,
  waitForExit,
  type TestHome,
} from '@holdfast/testbeds';
import { installAgent } from '../../src/install-agent.ts';
import { startMockModel, type MockModel } from '../../src/mock-model/mock-model.ts';
import { chunkTexts, modelScript } from '../../src/mock-model/model-script.ts';
import type { RealAgent } from '../../src/real-agent.ts';
import type { BackendOptions, ToldOf } from '../fixtures/backend-lines.ts';
import { Backend } from './backend.ts';
import { Measurements } from './measurements.ts';
import { saidText } from './said-text.ts';
import { eventsOf, readStoredSession } from './stored-session.ts';

const SESSION = 'session';
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast-agents');

/** An agent whose backend was killed. */
interface OrphanedAgent {
  readonly pid: number;
  readonly startTime: string | undefined;
  readonly providerSessionId: string | null;
  readonly turnId: string;
}

/** The state of a turn and the stop reason of its outcome. */
type TurnEnd = readonly [string, string];

const COMPLETED: TurnEnd = ['completed', 'end_turn'];

const said =
  (text: string) =>
  async (backend: Backend): Promise<unknown> =>
    await backend.tells('update', ({ update }) => saidText([update]).startsWith(text));

function parentOf(pid: number): number {
  return listProcesses().find((entry) => entry.pid === pid)?.parentPid ?? 0;
}

/** The tests that an agent outlives its backend, for a `describe`. Its package is installed first, unless that was done. */
export function testSurvival(agent: RealAgent): void {
  jest.setTimeout(300_000);

  const measurements = new Measurements();
  // A call of a tool that has to be allowed.
  const makeFile = {
    tool: agent.shellTool,
    input: { command: 'echo allowed > made.txt', description: 'Makes a file' },
  };
  let program: string;
  let home: TestHome;
  let model: MockModel;
  let options: BackendOptions;

  beforeAll(async () => {
    program = await installAgent(agent.package, CACHE);
  }, 20 * 60_000);

  beforeEach(async () => {
    home = await testHome('real-agents');
    model = await startMockModel();
    options = {
      home: await home.folder('installation'),
      sessionId: SESSION,
      workspace: await home.folder('workspace'),
      agent: await agent.setUp({ program, folder: await home.folder('agent'), model }),
    };
  });

  afterEach(async () => {
    await model[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  afterAll(async () => {
    const { name, version } = agent.package;
    await measurements.write({ name, version, node: process.version });
  });

  const startBackend = async (): Promise<Backend> => await Backend.start(home.path('backend.json'), options);

  /** Starts a backend and its session, prompts, and kills the backend with SIGKILL once it has told enough. */
  async function killedInTurn(
    prompt: string,
    enough: (backend: Backend) => Promise<unknown>,
  ): Promise<OrphanedAgent> {
    await using backend = await startBackend();
    const { agentPid: pid, providerSessionId, sessionMs } = await backend.tells('up');
    if (pid === null) throw new Error('the session has no agent');
    measurements.note('agent started, ms', sessionMs);
    const turnId = await backend.prompt(prompt);
    await enough(backend);
    expect(backend.all('outcome')).toEqual([]);
    return { pid, startTime: processStartTime(pid), providerSessionId, turnId };
  }

  /** Whether a backend came back to the same process and the same conversation. */
  async function expectAdopted(backend: Backend, orphan: OrphanedAgent): Promise<ToldOf<'up'>> {
    const up = await backend.tells('up');
    expect(up).toMatchObject({ agentPid: orphan.pid, providerSessionId: orphan.providerSessionId });
    expect(up.recovery).toMatch(/^1 of 1 re-tracked/m);
    expect(orphan.startTime).toBeDefined();
    expect(processStartTime(orphan.pid)).toBe(orphan.startTime);
    measurements.note('adopted, ms', up.hostMs);
    return up;
  }

  /** Allows what `makeFile` asks for; it must not have happened before, and has to happen then. */
  async function expectAllowed(backend: Backend, permission: PermissionRequest): Promise<void> {
    const file = join(options.workspace, 'made.txt');
    await expect(readFile(file, 'utf8')).rejects.toThrow('ENOENT');
    const optionId = permission.options.find(({ kind }) => kind === 'allow_once')?.optionId ?? '';
    backend.order({ do: 'answer', requestId: permission.requestId, optionId });
    await backend.tells('answered');
    await until(async () => (await readFile(file, 'utf8')) === 'allowed\n', {
      reason: 'the agent to do what it may',
      withinMs: 60_000,
    });
  }

  /** Closes the last backend and judges what the ledger holds of the session. */
  async function expectWholeSession(
    backend: Backend,
    pid: number,
    text: string,
    turns: readonly TurnEnd[] = backend.all('outcome').map(() => COMPLETED),
  ): Promise<void> {
    await measurements.noteMemory('agent memory, MB', [pid, ...descendants(pid)]);
    await measurements.noteMemory('control server memory, MB', [parentOf(pid)]);
    await backend.close();
    await waitForExit(pid, { withinMs: 30_000, reason: 'its backend stopped it' });
    const stored = await readStoredSession(join(options.home, 'ledger.db'), SESSION);
    expect(stored.events.map(({ seq }) => seq)).toEqual(stored.events.map((_event, index) => index + 1));
    expect(stored.events.map(({ position }) => position)).toEqual(stored.events.map(({ seq }) => seq));
    expect(saidText(eventsOf(stored, 'session_update').map(({ update }) => update))).toBe(text);
    const ended = eventsOf(stored, 'turn_ended');
    expect(ended).toHaveLength(turns.length);
    expect(ended.map(({ promptGeneration }) => promptGeneration)).toEqual(
      ended.map((_event, index) => index + 1),
    );
    expect(stored.turns.map(({ state, outcome }) => [state, outcome?.stopReason])).toEqual(turns);
    expect(backend.all('error')).toEqual([]);
    expect(model.strangers.filter((request) => !agent.looksFor.some((known) => known.test(request)))).toEqual(
      [],
    );
  }

  it('goes on with its answer when its backend is killed, and asks the next one for permission', async () => {
    const prompt = modelScript([
      { chunks: { count: 30, everyMs: 20 } },
      { gate: 'killed' },
      { chunks: { count: 40, everyMs: 20 } },
      { gate: 'adopted' },
      { say: 'The end.' },
    ]);
    const orphan = await killedInTurn(`Count.\n${prompt}`, said('chunk 30 of'));
    model.openGate('killed');

    await using backend = await startBackend();
    await expectAdopted(backend, orphan);
    expect(backend.all('outcome')).toEqual([]);
    model.openGate('adopted');
    const { outcome } = await backend.tells('outcome', ({ turnId }) => turnId === orphan.turnId);
    expect(outcome).toMatchObject({ kind: 'completed', stopReason: 'end_turn' });

    const second = await backend.prompt(modelScript([makeFile], [{ say: ' Made.' }]));
    const { permission } = await backend.tells('permission');
    await expectAllowed(backend, permission);
    await backend.tells('outcome', ({ turnId }) => turnId === second);
    expect(backend.all('outcome').map(({ turnId }) => turnId)).toEqual([orphan.turnId, second]);
    await expectWholeSession(
      backend,
      orphan.pid,
      `${[...chunkTexts(30), ...chunkTexts(40)].join('')}The end. Made.`,
    );
  });

  it('waits with its question for the next backend when the one that heard it is killed', async () => {
    const prompt = modelScript([{ say: 'May I?' }, makeFile], [{ say: ' Made.' }]);
    const orphan = await killedInTurn(prompt, async (backend) => await backend.tells('permission'));

    await using backend = await startBackend();
    const { permissions } = await expectAdopted(backend, orphan);
    expect(permissions).toHaveLength(1);
    for (const permission of permissions) await expectAllowed(backend, permission);
    await backend.tells('outcome', ({ turnId }) => turnId === orphan.turnId);
    expect(backend.all('outcome')).toHaveLength(1);
    await expectWholeSession(backend, orphan.pid, 'May I? Made.');
  });

  it('ends its turn while no backend is there, and the next one applies the outcome once', async () => {
    const prompt = modelScript([
      { chunks: { count: 20, everyMs: 10 } },
      { gate: 'alone' },
      { say: 'The end.' },
    ]);
    const orphan = await killedInTurn(prompt, said('chunk 20 of'));
    model.openGate('alone');
    await until(async () => (await agent.finishedTurns(home.path('agent'))) === 1, {
      reason: 'the agent to finish its turn',
      withinMs: 60_000,
    });

    await using backend = await startBackend();
    const { contactAt } = await expectAdopted(backend, orphan);
    await backend.tells('outcome', ({ turnId }) => turnId === orphan.turnId);
    const second = await backend.prompt(modelScript([{ say: ' And more.' }]));
    await backend.tells('outcome', ({ turnId }) => turnId === second);
    expect(backend.all('outcome').map(({ turnId }) => turnId)).toEqual([orphan.turnId, second]);
    await expectWholeSession(backend, orphan.pid, `${chunkTexts(20).join('')}The end. And more.`);
    expect(await firstTurnEnded()).toBeLessThan(contactAt);
  });

  it('is cancelled in the middle of its answer by the next backend, and takes the next prompt', async () => {
    const prompt = modelScript([
      { chunks: { count: 30, everyMs: 20 } },
      { gate: 'never' },
      { say: 'Never said.' },
    ]);
    const orphan = await killedInTurn(prompt, said('chunk 30 of'));

    await using backend = await startBackend();
    await expectAdopted(backend, orphan);
    backend.order({ do: 'cancel' });
    expect(await backend.tells('cancelled')).toMatchObject({ cancelling: true });
    const { outcome } = await backend.tells('outcome', ({ turnId }) => turnId === orphan.turnId);
    expect(outcome).toMatchObject({ kind: 'cancelled', stopReason: 'cancelled' });
    await until(() => model.calls.some(({ kind, state }) => kind === 'scripted' && state === 'cut'), {
      reason: 'the agent to let go of the model',
      withinMs: 60_000,
    });
    const second = await backend.prompt(modelScript([{ say: 'And on.' }]));
    await backend.tells('outcome', ({ turnId }) => turnId === second);
    await expectWholeSession(backend, orphan.pid, `${chunkTexts(30).join('')}And on.`, [
      ['cancelled', 'cancelled'],
      COMPLETED,
    ]);
  });

  it('goes on in the mode that was set, and with its conversation, when it is killed itself after its backend was', async () => {
    let pid: number;
    {
      await using first = await startBackend();
      await first.tells('up');
      first.order({ do: 'setMode', modeId: agent.otherMode });
      await first.tells('modeSet');
      const turnId = await first.prompt(modelScript([{ say: 'Before. ' }]));
      await first.tells('outcome', (told) => told.turnId === turnId);
    }
    await agent.loadable();
    await using backend = await startBackend();
    pid = (await backend.tells('up')).agentPid ?? 0;
    const family = [pid, ...descendants(pid)];
    process.kill(pid, 'SIGKILL');
    await backend.tells('exited');
    for (const member of family) await waitForExit(member, { withinMs: 30_000, reason: 'its agent is gone' });

    const turnId = await backend.prompt(modelScript([{ say: 'After.' }]));
    expect(await backend.tells('restarted')).toMatchObject({ history: 'loaded' });
    await backend.tells('outcome', (told) => told.turnId === turnId);
    expect(model.calls.findLast(({ kind }) => kind === 'scripted')?.answersBefore).toBe(1);
    pid = await agentPidOf(backend);
    const text = `${agent.saysOfMode}Before. ${agent.saysOfMode}After.`;
    await expectWholeSession(backend, pid, text, [COMPLETED, COMPLETED]);
  });

  it('is held back when it says more than is kept for nobody, and loses nothing', async () => {
    const orphan = await killedInTurn(
      modelScript([{ chunks: { count: 1_000, everyMs: 1 } }]),
      said('chunk 10 of'),
    );
    await until(
      () => model.calls.some(({ textsSent, state }) => textsSent === 1_000 && state === 'answered'),
      {
        reason: 'the model to have given its answer',
        withinMs: 60_000,
      },
    );

    await using backend = await startBackend();
    const { contactAt } = await expectAdopted(backend, orphan);
    await backend.tells('outcome', ({ turnId }) => turnId === orphan.turnId);
    expect(backend.all('outcome')).toHaveLength(1);
    await expectWholeSession(backend, orphan.pid, chunkTexts(1_000).join(''));
    expect(await firstTurnEnded()).toBeGreaterThan(contactAt);
  });

  /** The process of the agent that runs now. */
  async function agentPidOf(backend: Backend): Promise<number> {
    backend.order({ do: 'look' });
    const { agentPid } = await backend.tells('looked');
    return agentPid ?? 0;
  }

  /** When the first turn ended, by the clock of the control server; epoch milliseconds. */
  async function firstTurnEnded(): Promise<number> {
    const { turns } = await readStoredSession(join(options.home, 'ledger.db'), SESSION);
    return Date.parse(turns[0]?.endedAt ?? '');
  }
}
