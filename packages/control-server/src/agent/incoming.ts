import { MAX_FRAME_BYTES, type StartAgent } from '@holdfast/control-protocol';
import type { Log } from '../diagnostics/log.ts';
import { hasRoom, type JournalLoad } from '../journal/capacity.ts';
import { allowingOption } from '../permissions/permission-desk.ts';
import type { AskedPermission } from '../permissions/permissions.ts';
import type { Clock } from '../ports/clock.ts';
import type { AcpConnection, AgentInbox } from './acp-connection.ts';
import { permissionResult, readPermission, updateEvents } from './acp-mapping.ts';
import { isJsonObject, type AskedId, type NoiseKind, type RpcAnswer } from './acp-message.ts';
import { FROM_AGENT, RPC_ERROR } from './acp-methods.ts';
import type { AgentListener } from './agent-listener.ts';
import type { AgentSession } from './agent-session.ts';
import { answerFileRequest, isFileRequest } from './file-requests.ts';
import { NoiseLog } from './noise-log.ts';
import { Replay } from './replay.ts';
import { turnTaker } from './take-turns.ts';

type Answering = Pick<AcpConnection, 'answer' | 'respond' | 'refuseMethod' | 'refuseParams'>;

// However many wait, one answer of the server can tell of all of them.
const OPEN_PERMISSIONS: JournalLoad = { events: 256, bytes: MAX_FRAME_BYTES };
const TOO_MANY_OPEN: RpcAnswer = {
  kind: 'error',
  error: {
    code: RPC_ERROR.internal,
    message: 'Too many permission requests wait for an answer; wait for some and ask again.',
  },
};

/** What an agent says of its own accord, in wire order: updates go to the journal, questions to the permission desk. */
export class Incoming implements AgentInbox {
  /** The open session, once it is. */
  session: AgentSession | null = null;
  readonly replay: Replay;
  readonly #connection: Answering;
  readonly #listener: AgentListener;
  readonly #approval: StartAgent['approval'];
  readonly #noise: NoiseLog;
  readonly #takeTurns = turnTaker();
  /** The ids of open permission requests by the agent's own ids. */
  readonly #permissions = new Map<AskedId, string>();
  /** How many they are, and how large. */
  #open: JournalLoad = { events: 0, bytes: 0 };

  constructor(parts: {
    readonly connection: Answering;
    readonly listener: AgentListener;
    readonly approval: StartAgent['approval'];
    readonly log: Log;
    readonly instanceId: string;
    readonly clock: Clock;
  }) {
    this.replay = new Replay(parts.clock);
    this.#connection = parts.connection;
    this.#listener = parts.listener;
    this.#approval = parts.approval;
    this.#noise = new NoiseLog(parts.log, parts.instanceId);
  }

  async onNotification(method: string, params: unknown): Promise<void> {
    const update = isJsonObject(params) ? params['update'] : undefined;
    if (method === FROM_AGENT.update && isJsonObject(update)) {
      if (this.replay.takes(update)) {
        await this.#takeTurns();
        return;
      }
      for (const event of updateEvents(update)) await this.#listener.publish(event);
      await this.session?.notice(update);
      return;
    }
    this.#noise.note('unknown_notification', method.length);
    await this.#takeTurns();
  }

  async onWithdrawal(id: AskedId): Promise<void> {
    const open = this.#permissions.get(id);
    if (open !== undefined) await this.#listener.permissionWithdrawn(open);
  }

  async onRequest(id: AskedId, method: string, params: unknown): Promise<void> {
    if (method === FROM_AGENT.requestPermission) await this.#permissionAsked(id, params);
    else if (isFileRequest(method))
      this.#connection.answer(id, await answerFileRequest(this.#listener.files, method, params));
    else this.#connection.refuseMethod(id, method);
  }

  onNoise(noise: NoiseKind, bytes: number): void {
    this.#noise.note(noise, bytes);
  }

  async #permissionAsked(id: AskedId, params: unknown): Promise<void> {
    const asked = readPermission(params);
    if (asked === undefined) {
      this.#connection.refuseParams(id, 'A permission request needs a toolCall and a list of options.');
      return;
    }
    // Where no option says yes there is nothing to grant: then somebody has to answer after all.
    const allowing = this.#approval === 'allow' ? allowingOption(asked.options) : undefined;
    if (allowing !== undefined) {
      this.#connection.respond(id, permissionResult({ optionId: allowing.optionId }));
      return;
    }
    const bytes = Buffer.byteLength(JSON.stringify(asked));
    if (!hasRoom(this.#open, OPEN_PERMISSIONS, bytes)) {
      this.#connection.answer(id, TOO_MANY_OPEN);
      return;
    }
    this.#open = { events: this.#open.events + 1, bytes: this.#open.bytes + bytes };
    const reply: AskedPermission['reply'] = (answer) => {
      this.#open = { events: this.#open.events - 1, bytes: this.#open.bytes - bytes };
      this.#permissions.delete(id);
      this.#connection.respond(id, permissionResult(answer));
    };
    await this.#listener.permissionAsked({ ...asked, reply }, (requestId) => {
      this.#permissions.set(id, requestId);
    });
  }
}
