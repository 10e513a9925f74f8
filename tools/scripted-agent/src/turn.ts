import type { JsonRpc } from './json-rpc.ts';
import type { LineWriter } from './line-writer.ts';
import type { OwnProcess } from './own-process.ts';
import type { Session } from './session.ts';
import type { Step } from './steps.ts';

/** One prompt on its way to its answer. */
export class Turn {
  readonly session: Session;
  readonly rpc: JsonRpc;
  readonly output: LineWriter;
  readonly process: OwnProcess;
  /** Settles once the prompt has been answered. */
  readonly answered: Promise<void>;
  /** Does steps outside of this turn, and says that this is over if it is to. */
  readonly goOn: (steps: readonly Step[], saysIdle: boolean) => Promise<void>;
  readonly #cancellation = new AbortController();
  #ignoresCancel = false;

  constructor(parts: {
    session: Session;
    rpc: JsonRpc;
    output: LineWriter;
    process: OwnProcess;
    answered: Promise<void>;
    goOn: (steps: readonly Step[], saysIdle: boolean) => Promise<void>;
  }) {
    this.session = parts.session;
    this.rpc = parts.rpc;
    this.output = parts.output;
    this.process = parts.process;
    this.answered = parts.answered;
    this.goOn = parts.goOn;
  }

  /** Aborted when the turn is to end early. */
  get cancelled(): AbortSignal {
    return this.#cancellation.signal;
  }

  cancel(): void {
    if (!this.#ignoresCancel) this.#cancellation.abort();
  }

  ignoreCancel(): void {
    this.#ignoresCancel = true;
  }

  async say(text: string): Promise<void> {
    await this.session.send({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }
}
