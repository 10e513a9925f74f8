import {
  STREAM_CLOSE,
  StreamRequest,
  type Instance as InstanceDescription,
} from '@holdfast/control-protocol';
import { WebSocket, type RawData } from 'ws';
import type { InstanceStream } from '../instances/attachment.ts';
import type { Instance } from '../instances/instance.ts';
import type { Clock } from '../ports/clock.ts';

/** Why the server ends a stream. */
export type StreamCloseReason = keyof typeof STREAM_CLOSE;

const FRAME_BYTES = 256 * 1024;
const PING_EVERY_MS = 15_000;
const MISSED_PINGS = 2;
// A peer that does not answer a close is not waited for longer.
const CLOSE_LIMIT_MS = 2000;

const REASONS: { readonly [Why in StreamCloseReason]: string } = {
  replaced: 'a newer stream of this instance took its place',
  superseded: 'another backend has adopted this server',
  protocolViolation: 'the protocol was broken',
  instanceStopped: 'the instance was stopped',
  serverStopping: 'the server is stopping',
};

/**
 * The event stream of one instance on one WebSocket: what the journal holds after `after`, then what comes. One frame at a
 * time: the next is made when the last has left for the network, so the journal is the only place where events wait.
 */
export class EventSocket implements InstanceStream {
  /** Settles when the connection has ended. Never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;
  readonly #instance: Instance;
  readonly #clock: Clock;
  #sentUpTo: number;
  #isSending = false;
  #missed = 0;
  #cancelTimer: () => void;

  constructor(
    socket: WebSocket,
    instance: Instance,
    options: { readonly after: number; readonly clock: Clock },
  ) {
    this.#socket = socket;
    this.#instance = instance;
    this.#clock = options.clock;
    this.#sentUpTo = options.after;
    this.#cancelTimer = options.clock.setTimer(PING_EVERY_MS, this.#ping);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#cancelTimer();
        instance.attachment.detach(this);
        resolve();
      });
    });
    socket.on('error', () => undefined); // its close follows
    socket.on('pong', () => {
      this.#missed = 0;
    });
    socket.on('message', (data, isBinary) => {
      this.#receive(data, isBinary);
    });
  }

  /** Takes the instance over from any other stream and starts to deliver. */
  start(): void {
    const { journal } = this.#instance;
    const after = this.#sentUpTo;
    journal.acknowledge(after);
    const first = journal.readAfter(after, 0)[0];
    const facts: Pick<InstanceDescription, 'instanceId'> & { nextSeq: number; replayFrom: number } = {
      instanceId: this.#instance.instanceId,
      nextSeq: journal.nextSeq,
      replayFrom: first?.seq ?? journal.nextSeq,
    };
    this.#socket.send(JSON.stringify({ type: 'attached', ...facts }));
    this.#instance.attachment.attach(this);
    this.onAppended();
  }

  onAppended(): void {
    if (!this.#isSending) void this.#sendAll();
  }

  onLossy(eventJson: string): boolean {
    // Nobody may count on these: with a slow peer they are let go.
    if (!this.#isOpen || this.#isSending) return false;
    this.#socket.send(`{"type":"lossy","event":${eventJson}}`);
    return true;
  }

  close(why: StreamCloseReason): void {
    if (!this.#isOpen) return;
    this.#socket.close(STREAM_CLOSE[why], REASONS[why]);
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.setTimer(CLOSE_LIMIT_MS, () => {
      this.#socket.terminate();
    });
    // It stops being the instance's stream now, not when the peer gets around to it.
    this.#instance.attachment.detach(this);
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#isOpen) {
        const entries = this.#instance.journal.readAfter(this.#sentUpTo, FRAME_BYTES);
        const last = entries.at(-1);
        if (last === undefined) return;
        this.#sentUpTo = last.seq;
        const frame = `{"type":"events","events":[${entries.map(({ json }) => json).join(',')}]}`;
        if (!(await this.#send(frame))) return;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Resolves when the frame has left for the network; false when it could not. */
  #send(frame: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#socket.send(frame, (error) => {
        resolve(!error);
      });
    });
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (!this.#isOpen) return;
    this.#missed = 0;
    const ack = isBinary ? undefined : readRequest(data);
    if (ack === undefined || ack.seq > this.#sentUpTo) {
      this.close('protocolViolation');
      return;
    }
    this.#instance.journal.acknowledge(ack.seq);
    // What was kept before anybody was here may be more than the window.
    this.onAppended();
  }

  readonly #ping = (): void => {
    if (this.#missed >= MISSED_PINGS) {
      this.#socket.terminate();
      return;
    }
    this.#missed += 1;
    if (this.#isOpen) this.#socket.ping();
    this.#cancelTimer = this.#clock.setTimer(PING_EVERY_MS, this.#ping);
  };
}

function readRequest(data: RawData): StreamRequest | undefined {
  if (!Buffer.isBuffer(data)) return undefined;
  try {
    const parsed = StreamRequest.safeParse(JSON.parse(data.toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
