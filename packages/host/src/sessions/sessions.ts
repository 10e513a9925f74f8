import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { Id, type JsonObject } from '@holdfast/control-protocol';
import { judgeReady, type PromptIdentity, type SessionFilter } from '@holdfast/turn-ledger';
import { NAME, OBJECT, SIGNAL, TEXT, assertGiven, assertIfGiven } from '../check-given.ts';
import { HostOptionError } from '../host-errors.ts';
import { executionStore } from '../turns/execution-store.ts';
import { agentNamed, runtimeOfKind } from './choices.ts';
import type { HostServices } from './host-services.ts';
import { launchSession } from './launch-session.ts';
import { Session } from './session.ts';
import { unlessClosed } from './unless-closed.ts';

/** What a new session is made of. */
export interface CreateSession {
  /** Made up when left out. */
  readonly sessionId?: string;
  /** The unit of work it belongs to; known to the ledger from here on. */
  readonly taskId: string;
  /** One of the host's agents. */
  readonly agent: string;
  /** One of the host's runtimes. */
  readonly runtime: string;
  /** `local`: an existing directory, as it is. */
  readonly workspace: { readonly kind: 'local'; readonly path: string };
  /** The host's own name for this attempt, carried to the agent as `KANDEV_RUN_ID`. */
  readonly runId?: string;
  /** The host's own name for the environment that the session works in; kept with the session and given back with it. */
  readonly taskEnvironmentId?: string;
  /** Kept with the session and its executions; must hold no secret. */
  readonly metadata?: JsonObject;
  readonly signal?: AbortSignal;
}

/** The sessions of a host. */
export class Sessions {
  readonly #services: HostServices;

  /** Made by `createHost`. */
  constructor(services: HostServices) {
    this.#services = services;
  }

  /**
   * Records a session and starts its agent; resolves when it can be prompted. When the agent does not start the session
   * stays in the ledger as failed, and a prompt tries again.
   */
  async create(options: CreateSession): Promise<Session> {
    const services = this.#services;
    services.closed.throwIfAborted();
    assertGiven('options', options, OBJECT);
    const sessionId = options.sessionId ?? services.newId();
    await checkCreateSession(services, options, sessionId);
    const signal = unlessClosed(services, options.signal);
    return await services.sessionGuard.hold(
      sessionId,
      async () => {
        const record = await services.ledger.sessions.create({
          sessionId,
          taskId: options.taskId,
          agentProfileId: options.agent,
          runtime: options.runtime,
          workspacePath: options.workspace.path,
          mode: 'managed',
          metadata: options.metadata ?? {},
          taskEnvironmentId: options.taskEnvironmentId ?? null,
        });
        try {
          await launchSession(services, record, { runId: options.runId ?? null, signal });
        } catch (error) {
          // After the end of the host the ledger is the next one's, which makes the session truthful.
          if (services.closed.aborted) throw error;
          await services.patience.nowOrLater(
            `the failed start of session ${sessionId}`,
            async () => {
              await services.ledger.sessions.setState(sessionId, 'failed');
            },
            services.closed,
          );
          throw error;
        }
        return new Session(services, record);
      },
      { signal },
    );
  }

  /** The session of that id, from this or an earlier life of the host, or null. */
  async get(sessionId: string): Promise<Session | null> {
    this.#services.closed.throwIfAborted();
    assertGiven('sessionId', sessionId, TEXT);
    const record = await this.#services.ledger.sessions.get(sessionId);
    return record === null ? null : new Session(this.#services, record);
  }

  /**
   * Whether the prompt that a `session.ready` event names is still the latest of an execution that this host drives. What is not
   * is about the past: ignore it (GENERATION-09).
   */
  isCurrent(ready: PromptIdentity): boolean {
    return judgeReady(ready, executionStore(this.#services.live)).kind === 'current';
  }

  /** All sessions, the oldest first. */
  async list(filter: SessionFilter = {}): Promise<readonly Session[]> {
    this.#services.closed.throwIfAborted();
    const records = await this.#services.ledger.sessions.list(filter);
    return records.map((record) => new Session(this.#services, record));
  }
}

async function checkCreateSession(
  services: HostServices,
  options: CreateSession,
  sessionId: string,
): Promise<void> {
  const { taskId, agent, runtime, workspace } = options;
  const id = 'an id of 1 to 128 characters of A-Z, a-z, 0-9, _ and -';
  if (!Id.safeParse(sessionId).success) throw new HostOptionError('sessionId', sessionId, id);
  if (!Id.safeParse(taskId).success) throw new HostOptionError('taskId', taskId, id);
  agentNamed(services, agent);
  runtimeOfKind(services, runtime);
  for (const name of ['runId', 'taskEnvironmentId'] as const) assertIfGiven(name, options[name], NAME);
  assertIfGiven('metadata', options.metadata, OBJECT);
  assertIfGiven('signal', options.signal, SIGNAL);
  assertGiven('workspace', workspace, OBJECT);
  const kind: unknown = workspace.kind;
  if (kind !== 'local') throw new HostOptionError('workspace.kind', kind, '"local"');
  const path: unknown = workspace.path;
  const found = TEXT.is(path) && isAbsolute(path) ? await stat(path).catch(() => undefined) : undefined;
  if (found?.isDirectory() !== true) {
    throw new HostOptionError('workspace.path', path, 'the absolute path of an existing directory');
  }
}
