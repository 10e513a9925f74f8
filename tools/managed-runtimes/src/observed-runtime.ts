import type { OperationName } from '@holdfast/control-protocol';
import type { ControlClient, InputOf } from '@holdfast/control-protocol/client';
import type {
  ExecutorRuntime,
  LaunchedInstance,
  OwnedControlServer,
  RuntimeFactory,
  RuntimeTraits,
} from '@holdfast/executor-contract';

/** A call of a host to a control server. */
export interface ControlCall {
  readonly name: OperationName;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Sees what a host asks of its control servers. */
export interface Observer {
  /** Every call about an instance that was launched, in order. */
  readonly calls: ControlCall[];
  /** Called when a call has been answered, or has failed; the host hears of it when this is through. */
  onAnswered: (call: ControlCall) => void | Promise<void>;
}

/** A runtime that does what another does, with its traits or others, seen by an observer. */
export function observedRuntime(
  factory: RuntimeFactory,
  observer: Observer,
  traits: Partial<RuntimeTraits> = {},
): RuntimeFactory {
  return {
    kind: factory.kind,
    create: (context): ExecutorRuntime => {
      const runtime = factory.create(context);
      return {
        kind: runtime.kind,
        traits: { ...runtime.traits, ...traits },
        open: async (signal) => await runtime.open(signal),
        recoverInstances: async (records, signal) => {
          const scopes = await runtime.recoverInstances(records, signal);
          return scopes.map((scope) =>
            scope.kind === 'enumerated' ? { ...scope, server: observed(scope.server, observer) } : scope,
          );
        },
        launch: async (request, signal): Promise<LaunchedInstance> => {
          const { server, instance } = await runtime.launch(request, signal);
          return { server: observed(server, observer), instance };
        },
        identify: async (pid, signal) => await runtime.identify(pid, signal),
        probe: async (record, signal) => await runtime.probe(record, signal),
        detach: async () => {
          await runtime.detach();
        },
        close: async () => {
          await runtime.close();
        },
      };
    },
  };
}

function observed(server: OwnedControlServer, observer: Observer): OwnedControlServer {
  const { client } = server;
  const call = async (
    name: OperationName,
    input: Record<string, unknown>,
    options: object,
  ): Promise<unknown> => {
    const seen = { name, input };
    observer.calls.push(seen);
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the host has given the input that goes with the name
      return await client.call(name, input as InputOf<OperationName>, options);
    } finally {
      await observer.onAnswered(seen);
    }
  };
  // Only the door is another: the client keeps its private state.
  const watched: ControlClient = new Proxy(client, {
    get: (target, property) => {
      if (property === 'call') return call;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { ...server, client: watched };
}
