import { STREAM_CLOSE, type OperationName, type ResponseOf } from '@holdfast/control-protocol';
import {
  ControlClient,
  type CallOptions,
  type ControlClientOptions,
  type EventStream,
  type InputOf,
} from '@holdfast/control-protocol/client';
import { lossIn, type Loss } from './loss.ts';

/** Drives a server, and notices in every answer and every stream that another backend drives it now (OWNERSHIP-002.3). */
export class DrivingClient extends ControlClient {
  readonly #onLoss: (loss: Loss) => void;

  constructor(options: ControlClientOptions, onLoss: (loss: Loss) => void) {
    super(options);
    this.#onLoss = onLoss;
  }

  override async call<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    options: CallOptions = {},
  ): Promise<ResponseOf<Name>> {
    return await this.#noticing(super.call(name, input, options));
  }

  override async openEvents(
    instanceId: string,
    options: { readonly after: number; readonly signal?: AbortSignal },
  ): Promise<EventStream> {
    const stream = await this.#noticing(super.openEvents(instanceId, options));
    void stream.ended.then(({ code }) => {
      if (code === STREAM_CLOSE.superseded) this.#onLoss('credential_superseded');
    });
    return stream;
  }

  async #noticing<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await answer;
    } catch (error) {
      const loss = lossIn(error);
      if (loss !== undefined) this.#onLoss(loss);
      throw error;
    }
  }
}
