import {
  ControlError,
  type CreateInstance,
  type Instance as InstanceDescription,
  type Prompt,
  type Reconstruction,
  type RepairedRuntime,
  type SessionChoice,
  type StartAgent,
  type StartedAgent,
} from '@holdfast/control-protocol';
import type { Exit } from '../agent/agent-process.ts';
import type { LogFacts } from '../diagnostics/log.ts';
import { MAX_UNACKNOWLEDGED_BYTES } from '../journal/capacity.ts';
import { Journal } from '../journal/journal.ts';
import { Permissions } from '../permissions/permissions.ts';
import { within } from '../ports/clock.ts';
import { Turns } from '../turns/turns.ts';
import { Workspace } from '../workspace/workspace.ts';
import { Activity } from './activity.ts';
import { AgentSlot } from './agent-slot.ts';
import { Attachment } from './attachment.ts';
import { choiceFailure } from './choice-failure.ts';
import { isIdle } from './idle-rule.ts';
import { listenToAgent } from './listen-to-agent.ts';
import type { InstanceSurroundings } from './surroundings.ts';
import { tellAgentEnd } from './tell-agent-end.ts';

// A turn that is cancelled because its agent stops has this long to end in the agent's own words.
const LAST_WORDS_MS = 1000;

/** One supervised agent: its workspace, its journal, its turns and permissions, and the agent while there is one. */
export class Instance {
  readonly instanceId: string;
  readonly journal: Journal;
  readonly turns: Turns;
  readonly permissions: Permissions;
  readonly workspace: Workspace;
  /** Where its event stream is. */
  readonly attachment: Attachment;
  readonly #surroundings: InstanceSurroundings;
  readonly #created: CreateInstance;
  readonly #createdAt: string;
  readonly #slot: AgentSlot;
  readonly #activity: Activity;
  #workspaceSourceRoots: readonly string[];
  #providerSessionId: string | null = null;
  #stopping: Promise<void> | null = null;

  constructor(surroundings: InstanceSurroundings, instanceId: string, created: CreateInstance) {
    const { clock, serverId, nextNumber, detachedEventLimit } = surroundings;
    this.#surroundings = surroundings;
    this.instanceId = instanceId;
    this.#created = created;
    this.#createdAt = clock.wall().toISOString();
    this.#activity = new Activity(clock);
    this.#workspaceSourceRoots = created.workspaceSourceRoots;
    const nextId = (): string => `${serverId}-${String(nextNumber())}`;
    this.journal = new Journal({
      clock,
      detachedLimit: detachedEventLimit,
      maxBytes: MAX_UNACKNOWLEDGED_BYTES,
      onFirstDropped: (type) => {
        this.#info({ type }, 'an event that may be lost was let go; more of its kind are only counted');
      },
    });
    this.turns = new Turns({ clock, journal: this.journal, nextTurnId: nextId });
    this.permissions = new Permissions({ clock, journal: this.journal, nextRequestId: nextId });
    this.workspace = new Workspace(() => ({
      workspacePath: created.workspacePath,
      roots: this.#workspaceSourceRoots,
    }));
    const parts = {
      journal: this.journal,
      turns: this.turns,
      permissions: this.permissions,
      activity: this.#activity,
    };
    this.attachment = new Attachment(parts);
    this.#slot = new AgentSlot({
      surroundings,
      instanceId,
      created,
      listener: listenToAgent({ ...parts, files: this.workspace }),
      onStopping: async () => {
        await this.#cancelLastTurn();
      },
      onEnded: (ended) => {
        tellAgentEnd(parts, ended);
      },
    });
  }

  /** The instance as it is enumerated: no environment, no command (CONTRACT-03). */
  describe(): InstanceDescription {
    const { executionId, sessionId, taskId, workspacePath } = this.#created;
    const { nextSeq, unacknowledged, paused } = this.journal;
    return {
      instanceId: this.instanceId,
      executionId,
      sessionId,
      taskId,
      status: this.#status(),
      agentPid: this.#slot.pid,
      workspacePath,
      createdAt: this.#createdAt,
      attached: this.attachment.isAttached,
      journal: { nextSeq, unacknowledged, paused },
      activeTurnId: this.turns.active?.turnId ?? null,
      retainedOutcomes: this.turns.retained,
      providerSessionId: this.#providerSessionId,
    };
  }

  /** What an execution is rebuilt from; holds secrets. */
  reconstruction(): Reconstruction {
    return {
      providerSessionId: this.#providerSessionId,
      workspaceSourceRoots: [...this.#workspaceSourceRoots],
      environment: { ...this.#created.environment },
      lastPromptGeneration: this.turns.lastPromptGeneration,
    };
  }

  /** The last lines of the stderr of the agent that runs or ran last. */
  readStderr(): ReturnType<AgentSlot['readStderr']> {
    return this.#slot.readStderr();
  }

  /** The one explicit rebind of the source roots. */
  setWorkspaceSourceRoots(roots: readonly string[]): void {
    this.#workspaceSourceRoots = roots;
  }

  /** Starts an agent; resolves when it is ready for prompts. A failed start leaves the instance idle. */
  async startAgent(start: StartAgent): Promise<StartedAgent> {
    this.#refuseWhenStopping();
    try {
      const started = await this.#slot.start(start);
      this.#providerSessionId = started.session.providerSessionId;
      if (this.#slot.status === 'ready') {
        const agent = this.#slot.ready();
        this.turns.own.agentReady(() => {
          agent.cancelTurn();
        });
      }
      return started;
    } catch (error) {
      // What an agent asked before it failed, nobody waits for any more.
      if (this.#slot.status === 'idle') void this.permissions.cancelAll('agent_exited');
      throw error;
    }
  }

  /** Removes npm's installed copy of a package, as the instance's agent has it; there must be no agent. */
  async repairRuntime(packageSpec: string): Promise<RepairedRuntime> {
    this.#refuseWhenStopping();
    try {
      return await this.#slot.repairRuntime(packageSpec);
    } catch (error) {
      this.#refuseWhenStopping();
      throw error;
    }
  }

  /** Stops the agent and all it started; the instance, its events and its outcomes stay. */
  async stopAgent(): Promise<Exit> {
    return await this.#slot.stop();
  }

  /** Chooses mode, model or an option of the session; throws the `ControlError` that says why that is not done. */
  async choose(choice: SessionChoice): Promise<void> {
    const agent = this.#slot.ready();
    try {
      await agent.choose(choice);
    } catch (error) {
      throw choiceFailure(error, choice);
    }
  }

  /** Accepts a prompt; the answer is the id of its turn. */
  prompt({ promptGeneration, content }: Prompt): string {
    const agent = this.#slot.ready();
    const turn = this.turns.accept(promptGeneration, {
      prompt: ({ turnId }) => {
        agent.prompt(content, async (outcome) => {
          const isFirst = await this.turns.answered(turnId, outcome);
          if (!isFirst) this.#info({ turnId }, 'a late answer to a prompt was dropped');
        });
      },
      cancel: () => {
        agent.cancelTurn();
      },
    });
    return turn.turnId;
  }

  /** Asks for the end of a turn, answering what the agent waits for; false when the turn is not active. */
  cancel(turnId: string): boolean {
    const isActive = this.turns.cancel(turnId);
    // An agent may wait for these before it looks at anything else.
    if (isActive) void this.permissions.cancelAll('turn_cancelled');
    return isActive;
  }

  /** Runs the work of one request; the instance is in use meanwhile. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    return await this.#activity.during(work);
  }

  /** Whether nobody has used it for that long. */
  isIdle(idleTimeoutMs: number): boolean {
    return isIdle(
      {
        attached: this.attachment.isAttached,
        requestsInFlight: this.#activity.requestsInFlight,
        // Work of its own counts by what it says: nobody would end one that fell silent.
        turnActive: this.turns.isPrompted,
        quietMs: this.#activity.quietMs,
      },
      idleTimeoutMs,
    );
  }

  /** Whether it is stopping for good or has stopped. */
  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  /** Stops the instance for good: agent and all it started are gone when it resolves, undelivered events as well. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  #refuseWhenStopping(): void {
    if (this.#stopping === null) return;
    throw new ControlError('instance_not_found', `Instance ${this.instanceId} is being stopped.`);
  }

  async #stop(): Promise<void> {
    await this.#slot.clear(() => {
      this.journal.stop();
    });
    this.turns.stop();
    this.attachment.close();
  }

  async #cancelLastTurn(): Promise<void> {
    const { active } = this.turns;
    if (active === null) return;
    this.cancel(active.turnId);
    await within(this.#surroundings.clock, LAST_WORDS_MS, this.turns.untilEnded());
  }

  #status(): InstanceDescription['status'] {
    if (this.#stopping !== null) return 'stopping';
    const { status } = this.#slot;
    return status === 'ready' && this.turns.active !== null ? 'running' : status;
  }

  #info(facts: LogFacts, message: string): void {
    this.#surroundings.log.info({ instanceId: this.instanceId, ...facts }, message);
  }
}
