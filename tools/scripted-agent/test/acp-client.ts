import { startProgram, until, type ProgramOptions, type StartedProgram } from '@holdfast/testbeds';
import { scriptedAgentCommand } from '@holdfast/scripted-agent';

/** A JSON-RPC message as the agent wrote it. */
export interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: {
    readonly sessionId?: string;
    readonly update?: Update;
    readonly [field: string]: unknown;
  };
  readonly result?: { readonly [field: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Update {
  readonly sessionUpdate: string;
  readonly content?: { readonly text?: string };
  readonly [field: string]: unknown;
}

const WITHIN_MS = 60_000;

/** Talks to a real agent process over its pipes and keeps all it wrote, in order. */
export class AcpClient implements AsyncDisposable {
  readonly program: StartedProgram;
  #lastId = -1;

  constructor(program: StartedProgram) {
    this.program = program;
  }

  static async start(options: ProgramOptions): Promise<AcpClient> {
    return new AcpClient(await startProgram(scriptedAgentCommand(), options));
  }

  /** Starts an agent and opens a session in `cwd`. */
  static async open(options: ProgramOptions & { readonly cwd: string }): Promise<[AcpClient, string]> {
    const client = await AcpClient.start(options);
    await client.call('initialize', { protocolVersion: 1, clientCapabilities: {} });
    const opened = await client.call('session/new', { cwd: options.cwd, mcpServers: [] });
    return [client, String(opened.result?.['sessionId'])];
  }

  get messages(): Message[] {
    return this.program.lines().flatMap((line) => {
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tests look at what they expect of it
        return [JSON.parse(line) as Message];
      } catch {
        return []; // noise that a step wrote
      }
    });
  }

  get updates(): Update[] {
    return this.messages.map((message) => message.params?.update).filter((update) => update !== undefined);
  }

  get texts(): (string | undefined)[] {
    return this.updates.map((update) => update.content?.text);
  }

  send(message: object): void {
    this.program.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  request(method: string, params: unknown): number {
    this.#lastId += 1;
    this.send({ id: this.#lastId, method, params });
    return this.#lastId;
  }

  async answerTo(id: number): Promise<Message> {
    return await this.message(
      (message) => message.id === id && message.method === undefined,
      `the answer to request ${String(id)}`,
    );
  }

  async call(method: string, params: unknown): Promise<Message> {
    return await this.answerTo(this.request(method, params));
  }

  async message(matches: (message: Message) => boolean, reason: string): Promise<Message> {
    return await until(() => this.messages.find(matches), { reason, withinMs: WITHIN_MS });
  }

  /** Waits for a message chunk that begins like this. */
  async said(text: string): Promise<string> {
    return await until(() => this.texts.find((said) => said?.startsWith(text)), {
      reason: `the agent to say "${text}"`,
      withinMs: WITHIN_MS,
    });
  }

  startPrompt(sessionId: string, text: string): number {
    return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  async prompt(sessionId: string, text: string): Promise<Message> {
    return await this.answerTo(this.startPrompt(sessionId, text));
  }

  cancel(sessionId: string): void {
    this.send({ method: 'session/cancel', params: { sessionId } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}
