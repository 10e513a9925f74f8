import { randomUUID } from 'node:crypto';
import { Choices } from './choices.ts';
import { FieldError, isObject } from './field-checks.ts';
import { JsonRpc, RpcError, type Receiver } from './json-rpc.ts';
import type { LineWriter } from './line-writer.ts';
import type { OwnProcess } from './own-process.ts';
import { readScript } from './read-script.ts';
import { runSteps } from './run-steps.ts';
import type { SessionStore, Update } from './session-store.ts';
import { Session } from './session.ts';
import type { StartBehaviour } from './start-behaviour.ts';
import type { Step } from './steps.ts';
import { Turn } from './turn.ts';

/** The agent behind the protocol: its sessions, and what each method does. */
export class ScriptedAgent implements Receiver {
  readonly rpc: JsonRpc;
  readonly #output: LineWriter;
  readonly #store: SessionStore;
  readonly #process: OwnProcess;
  readonly #behaviour: StartBehaviour;
  readonly #sessions = new Map<string, Session>();
  /** The turns under way, by session id. */
  readonly #turns = new Map<string, Turn>();
  /** What goes on outside of a turn, by session id. */
  readonly #ownWork = new Map<string, Turn>();
  #authenticated = false;

  constructor(parts: {
    output: LineWriter;
    store: SessionStore;
    process: OwnProcess;
    behaviour: StartBehaviour;
  }) {
    this.#output = parts.output;
    this.#store = parts.store;
    this.#process = parts.process;
    this.#behaviour = parts.behaviour;
    const { stringIds, twiceOn } = parts.behaviour;
    this.rpc = new JsonRpc(parts.output, this, { stringIds, twiceOn });
  }

  async request(method: string, params: unknown, answered: Promise<void>): Promise<unknown> {
    const { exit, exitOn, silentOn } = this.#behaviour;
    if (exit !== undefined && exitOn === method) await this.#process.end({ exitCode: exit });
    if (silentOn === method) return await new Promise<never>(() => undefined);
    switch (method) {
      case 'initialize':
        return this.#initialize();
      case 'authenticate':
        this.#authenticated = true;
        return {};
      case 'session/new':
        return this.#newSession(paramsOf(params));
      case 'session/load':
        return await this.#loadSession(paramsOf(params), answered);
      case 'session/resume':
        return this.#resumeSession(paramsOf(params));
      case 'session/set_mode':
        return this.#session(paramsOf(params)).choices.setMode(paramsOf(params)['modeId']);
      case 'session/set_model':
        return this.#session(paramsOf(params)).choices.setModel(paramsOf(params)['modelId']);
      case 'session/set_config_option':
        return this.#session(paramsOf(params)).choices.setOption(paramsOf(params));
      case 'session/prompt':
        return await this.#prompt(paramsOf(params), answered);
      default:
        throw new RpcError(-32601, `The scripted agent has no method "${method}".`);
    }
  }

  notification(method: string, params: unknown): void {
    if (method !== 'session/cancel') return;
    const sessionId = isObject(params) ? params['sessionId'] : undefined;
    if (typeof sessionId !== 'string') return;
    this.#turns.get(sessionId)?.cancel();
    this.#ownWork.get(sessionId)?.cancel();
  }

  #initialize(): object {
    const {
      initializeError,
      protocolVersion = 1,
      loadSession = true,
      resume = false,
      authRequired = false,
    } = this.#behaviour;
    if (initializeError !== undefined) throw new RpcError(initializeError.code, initializeError.message);
    return {
      protocolVersion,
      agentCapabilities: { loadSession, ...(resume ? { sessionCapabilities: { resume: {} } } : {}) },
      agentInfo: { name: 'scripted-agent', title: 'Scripted agent', version: '1.0.0' },
      authMethods: authRequired ? [{ id: 'scripted-login', name: 'Scripted login' }] : [],
    };
  }

  #newSession(params: Record<string, unknown>): object {
    this.#admitSession();
    const id = `session-${randomUUID()}`;
    this.#store.create(id);
    const session = this.#open(id, 'new', textOf(params, 'cwd'), 0);
    return { sessionId: id, ...session.choices.offered() };
  }

  async #loadSession(params: Record<string, unknown>, answered: Promise<void>): Promise<object> {
    this.#admitSession();
    if (this.#behaviour.loadSession === false) {
      throw new RpcError(-32601, 'The scripted agent was told not to offer "session/load".');
    }
    const { session, history } = this.#reopen(params, 'load');
    const replay = async (): Promise<void> => {
      for (const update of history) await session.sendUnremembered(update);
    };
    if (this.#behaviour.lateReplay === true) void answered.then(replay);
    else await replay();
    return session.choices.offered();
  }

  #resumeSession(params: Record<string, unknown>): object {
    this.#admitSession();
    if (this.#behaviour.resume !== true) {
      throw new RpcError(-32601, 'The scripted agent was not told to offer "session/resume".');
    }
    return this.#reopen(params, 'resume').session.choices.offered();
  }

  #reopen(
    params: Record<string, unknown>,
    opened: 'load' | 'resume',
  ): { readonly session: Session; readonly history: readonly Update[] } {
    const id = textOf(params, 'sessionId');
    const history = this.#store.history(id);
    if (history === undefined) throw this.#unknownSession(id);
    const toolCalls = history.filter((update) => update.sessionUpdate === 'tool_call').length;
    return { session: this.#open(id, opened, textOf(params, 'cwd'), toolCalls), history };
  }

  async #prompt(params: Record<string, unknown>, answered: Promise<void>): Promise<object> {
    const session = this.#session(params);
    if (this.#turns.has(session.id)) {
      throw new RpcError(-32600, `The session ${session.id} is in the middle of a turn.`);
    }
    const text = promptText(params['prompt']);
    const steps = readScript(text) ?? [{ step: 'say', text } as const];
    session.remember({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
    const turn = this.#turn(session, answered);
    this.#turns.set(session.id, turn);
    try {
      return { stopReason: await runSteps(turn, steps) };
    } finally {
      this.#turns.delete(session.id);
    }
  }

  #turn(session: Session, answered: Promise<void>): Turn {
    return new Turn({
      session,
      rpc: this.rpc,
      output: this.#output,
      process: this.#process,
      answered,
      goOn: async (steps, saysIdle) => {
        await this.#goOn(session, steps, saysIdle);
      },
    });
  }

  async #goOn(session: Session, steps: readonly Step[], saysIdle: boolean): Promise<void> {
    const work = this.#turn(session, Promise.resolve());
    this.#ownWork.set(session.id, work);
    const stopReason = await runSteps(work, steps);
    if (this.#ownWork.get(session.id) === work) this.#ownWork.delete(session.id);
    if (saysIdle) await session.send({ sessionUpdate: 'state_update', state: 'idle', stopReason });
  }

  #admitSession(): void {
    const { sessionError, authRequired = false } = this.#behaviour;
    if (sessionError !== undefined) throw new RpcError(sessionError.code, sessionError.message);
    if (authRequired && !this.#authenticated) throw new RpcError(-32000, 'Authentication required');
  }

  #open(id: string, opened: Session['opened'], workingDirectory: string, toolCalls: number): Session {
    const choices = new Choices(this.#behaviour);
    const parts = { id, opened, workingDirectory, choices, toolCalls };
    const session = new Session({ ...parts, rpc: this.rpc, store: this.#store });
    this.#sessions.set(id, session);
    return session;
  }

  #session(params: Record<string, unknown>): Session {
    const id = textOf(params, 'sessionId');
    const session = this.#sessions.get(id);
    if (session === undefined) throw this.#unknownSession(id);
    return session;
  }

  #unknownSession(id: string): RpcError {
    return new RpcError(this.#behaviour.unknownSessionCode ?? -32002, `There is no session "${id}".`);
  }
}

function paramsOf(params: unknown): Record<string, unknown> {
  if (!isObject(params)) throw new FieldError('The params must be a JSON object.');
  return params;
}

function textOf(params: Record<string, unknown>, field: string): string {
  const value = params[field];
  if (typeof value !== 'string') throw new FieldError(`The field "${field}" must be text.`);
  return value;
}

function promptText(prompt: unknown): string {
  if (!Array.isArray(prompt)) throw new FieldError('The field "prompt" must be a list of content blocks.');
  return prompt
    .map((block: unknown) => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .join('');
}
