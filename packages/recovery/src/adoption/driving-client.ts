import { STREAM_CLOSE, type OperationName, type ResponseOf } from '@holdfast/control-protocol';
import {
  ControlClient,
  type CallOptions,
  type ControlClientOptions,
  type EventStream,
  type InputOf,
} from '@holdfast/control-protocol/client';
import type { Dialled } from '@holdfast/executor-contract';
import { lossIn, type Loss } from './loss.ts';
import { endIn, type ServerEnd } from './server-end.ts';

/** Who hears what a client notices; called once for each answer that says so. */
export interface DrivingListener {
  readonly onLoss: (loss: Loss) => void;
  readonly onEnd: (end: ServerEnd) => void;
}

/**
 * Drives a server, and notices in every answer and every stream that another backend drives it now (OWNERSHIP-002.3), or that it has
 * ended.
 */
export class DrivingClient extends ControlClient {
  readonly #route: Dialled['route'];
  readonly #listener: DrivingListener;

  constructor(
    { route, ...options }: ControlClientOptions & Pick<Dialled, 'route'>,
    listener: DrivingListener,
  ) {
    super(options);
    this.#route = route;
    this.#listener = listener;
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
      if (code === STREAM_CLOSE.superseded) this.#listener.onLoss('credential_superseded');
      if (code === STREAM_CLOSE.serverStopping) this.#listener.onEnd('shutting_down');
    });
    return stream;
  }

  async #noticing<Value>(answer: Promise<Value>): Promise<Value> {
    try {
      return await answer;
    } catch (error) {
      const loss = lossIn(error);
      if (loss !== undefined) this.#listener.onLoss(loss);
      const end = endIn(this.#route, error);
      if (end !== undefined) this.#listener.onEnd(end);
      throw error;
    }
  }
}
