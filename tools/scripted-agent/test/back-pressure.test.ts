import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';

const COUNT = 5_000;

/** An agent whose output is read only when the test says so. */
class UnreadAgent {
  readonly lines: string[] = [];
  readonly #agent;
  readonly #exited: Promise<unknown>;

  constructor(home: TestHome) {
    const [program = '', ...args] = scriptedAgentCommand();
    this.#agent = spawn(program, args, { cwd: home.root, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = once(this.#agent, 'exit');
    createInterface({ input: this.#agent.stdout }).on('line', (line) => this.lines.push(line));
  }

  send(message: object): void {
    this.#agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async line(text: string): Promise<string> {
    return await until(() => this.lines.find((line) => line.includes(text)), {
      reason: text,
      withinMs: 60_000,
    });
  }

  stopReading(): void {
    this.#agent.stdout.pause();
  }

  goOnReading(): void {
    this.#agent.stdout.resume();
  }

  get chunkNumbers(): number[] {
    return this.lines.flatMap((line) => /"chunk (\d+)\//.exec(line)?.[1] ?? []).map(Number);
  }

  async end(): Promise<void> {
    this.#agent.kill('SIGKILL');
    await this.#exited;
  }
}

describe('while nobody reads its output', () => {
  let home: TestHome;
  let agent: UnreadAgent;
  let sessionId: string;

  beforeEach(async () => {
    home = await testHome('scripted-agent');
    agent = new UnreadAgent(home);
    agent.send({ id: 0, method: 'session/new', params: { cwd: home.root, mcpServers: [] } });
    sessionId = /session-[\w-]+/.exec(await agent.line('"id":0'))?.[0] ?? '';
    agent.stopReading();
    const text = script({ step: 'chunks', count: COUNT, bytes: 1_000 });
    agent.send({ id: 1, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text }] } });
  });

  afterEach(async () => {
    await agent.end();
    await home[Symbol.asyncDispose]();
  });

  /** Waits until the agent makes no progress any more; gives how many updates it has made. It remembers each before it sends it. */
  async function stalledAfter(): Promise<number> {
    let updates = 0;
    return await until(
      async () => {
        const before = updates;
        const history = await readFile(home.path('.scripted-agent', `${sessionId}.jsonl`), 'utf8');
        updates = history.split('\n').length - 1;
        return updates > 10 && updates === before && updates;
      },
      { reason: 'the agent to stall', withinMs: 60_000, everyMs: 300 },
    );
  }

  it('the agent stops working, and afterwards loses and reorders nothing', async () => {
    expect(await stalledAfter()).toBeLessThan(COUNT / 4);
    agent.goOnReading();
    expect(JSON.parse(await agent.line('"id":1'))).toMatchObject({ result: { stopReason: 'end_turn' } });
    expect(agent.chunkNumbers).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
    expect(agent.lines.at(-1)).toContain('"id":1');
  });

  it('the agent hears a cancel', async () => {
    await stalledAfter();
    agent.send({ method: 'session/cancel', params: { sessionId } });
    agent.goOnReading();
    expect(JSON.parse(await agent.line('"id":1'))).toMatchObject({ result: { stopReason: 'cancelled' } });
    expect(agent.chunkNumbers.length).toBeLessThan(COUNT);
    expect(agent.lines.at(-1)).toContain('"id":1');
  });
});
