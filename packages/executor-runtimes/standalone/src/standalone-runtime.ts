import { randomUUID } from 'node:crypto';
import type {
  AdoptionResult,
  ExecutionRecord,
  ExecutorRuntime,
  LaunchRequest,
  LaunchedInstance,
  OwnedControlServer,
  ProcessEvidence,
  ProcessIdentity,
  RuntimeContext,
  RuntimeTraits,
  ScopeEnumeration,
  ScopeReport,
} from '@holdfast/executor-contract';
import { dialRecorded } from './dial.ts';
import { NoControlServerError, RuntimeClosedError } from './launch-errors.ts';
import type { Machine } from './machine.ts';
import { placeServer, type Placement } from './place-server.ts';
import { identifyProcess, probeProcess } from './probe.ts';
import { serverEnvironment } from './server-environment.ts';
import { startServer } from './start-server.ts';

/** One control server for the whole installation. */
const SCOPE = 'standalone';

interface CheckedOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly readyTimeoutMs: number;
}

interface Held {
  readonly report: ScopeReport;
  readonly server: OwnedControlServer;
}

/** A server, or the report that says why there is none and the error behind it. */
type Opening = Held | { readonly report: ScopeReport; readonly server: null; readonly failure: unknown };

/** Control servers as local processes: one detached process for each installation. */
export class StandaloneRuntime implements ExecutorRuntime {
  readonly kind = 'standalone';
  readonly traits: RuntimeTraits;
  readonly #context: RuntimeContext;
  readonly #options: CheckedOptions;
  readonly #machine: Machine;
  #held: Held | undefined;
  #opening: Promise<Opening> | undefined;
  #closed = false;

  constructor(context: RuntimeContext, options: CheckedOptions, machine: Machine) {
    this.traits = { survivesRestart: context.survival, remote: false, repairsNpmRuntimes: true };
    this.#context = context;
    this.#options = options;
    this.#machine = machine;
  }

  async open(signal: AbortSignal): Promise<readonly ScopeReport[]> {
    return [(await this.#openOnce(signal)).report];
  }

  async recoverInstances(
    _records: readonly ExecutionRecord[],
    signal: AbortSignal,
  ): Promise<readonly ScopeEnumeration[]> {
    const held = this.#held;
    // A server that was just started has nothing to recover.
    if (held === undefined || held.report.server !== 'adopted') return [];
    const { server } = held;
    const enumeration = await server.enumerate(signal);
    if (enumeration.kind === 'not_enumerated') return [{ ...enumeration, scope: SCOPE }];
    return [{ ...enumeration, scope: SCOPE, server }];
  }

  async identify(pid: number, signal: AbortSignal): Promise<ProcessIdentity | null> {
    signal.throwIfAborted();
    return await identifyProcess(this.#machine.processes, pid);
  }

  async probe(record: ExecutionRecord, signal: AbortSignal): Promise<ProcessEvidence> {
    signal.throwIfAborted();
    return await probeProcess(this.#machine.processes, record);
  }

  async launch(request: LaunchRequest, signal: AbortSignal): Promise<LaunchedInstance> {
    return await this.#launch(request, signal, false);
  }

  async #launch(request: LaunchRequest, signal: AbortSignal, isRetry: boolean): Promise<LaunchedInstance> {
    const opening = await this.#openOnce(signal);
    if (opening.server === null) {
      const { report, failure } = opening;
      throw new NoControlServerError({ scope: SCOPE, why: report.detail, cause: failure });
    }
    const { server } = opening;
    server.lost.throwIfAborted();
    try {
      return { server, instance: await createInstance(server, request, signal) };
    } catch (error) {
      if (!server.ended.aborted || isRetry) throw error;
      // Nothing of it is left there, and nobody had noticed yet that the server has ended: it gets another.
      return await this.#launch(request, signal, true);
    }
  }

  async detach(): Promise<void> {
    const held = await this.#letGo();
    await held?.server.release();
  }

  async close(): Promise<void> {
    const held = await this.#letGo();
    await held?.server.shutdown();
  }

  async #letGo(): Promise<Held | undefined> {
    this.#closed = true;
    await this.#opening;
    const held = this.#held;
    this.#held = undefined;
    return held;
  }

  async #openOnce(signal: AbortSignal): Promise<Opening> {
    if (this.#closed) throw new RuntimeClosedError();
    if (this.#held?.server.ended.aborted === false) return this.#held;
    this.#held = undefined;
    this.#opening ??= this.#adoptOrStart(signal).finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #adoptOrStart(signal: AbortSignal): Promise<Opening> {
    const { ownership, survival } = this.#context;
    if (!survival) {
      const survivor = await ownership.endSurvivor(SCOPE, dialRecorded, signal);
      const refusal = survivor.kind === 'left_alone' ? survivor.reason : null;
      return await this.#start(
        refusal,
        `survival is off; survivor of the last backend: ${survivor.kind}`,
        signal,
      );
    }
    const adoption = await ownership.adopt(SCOPE, dialRecorded, signal);
    if (adoption.kind === 'adopted') {
      const { server } = adoption;
      return this.#hold(server, { ...reportOf('adopted'), detail: `server ${server.serverId}` });
    }
    const refusal = refusalOf(adoption);
    const detail = describe(adoption);
    if (refusal === 'rotation_failure') {
      return { report: { ...reportOf('none'), refusal, detail }, server: null, failure: undefined };
    }
    return await this.#start(refusal, detail, signal);
  }

  async #start(refusal: ScopeReport['refusal'], detail: string, signal: AbortSignal): Promise<Opening> {
    const { home, survival, ownership } = this.#context;
    try {
      const { command, environment, warnings } = await this.#place(signal);
      const started = await startServer({
        command,
        home,
        lifetime: survival ? 'detached' : 'bound',
        environment,
        readyTimeoutMs: this.#options.readyTimeoutMs,
        signal,
      });
      try {
        const server = await ownership.bootstrap(SCOPE, started.fresh, signal);
        return this.#hold(server, { ...reportOf('started'), refusal, detail, warnings });
      } catch (error) {
        await started.end();
        throw error;
      }
    } catch (failure) {
      const why = failure instanceof Error ? failure.message : String(failure);
      return { report: { ...reportOf('none'), refusal, detail: `${detail}; ${why}` }, server: null, failure };
    }
  }

  async #place(signal: AbortSignal): Promise<Placement> {
    const { environment: backend, serverCommand: command, serverSettings: settings } = this.#context;
    const environment = serverEnvironment({ backend, added: this.#options.environment, settings });
    // A bound server is to end with the backend, so what takes both along is welcome.
    if (!this.#context.survival) return { command, environment, warnings: [] };
    return await placeServer({ command, environment, backend, machine: this.#machine, signal });
  }

  #hold(server: OwnedControlServer, report: ScopeReport): Held {
    this.#held = { server, report };
    return this.#held;
  }
}

/** Creates an instance without an agent; one that was created although that failed is stopped. */
async function createInstance(
  server: OwnedControlServer,
  request: LaunchRequest,
  signal: AbortSignal,
): Promise<LaunchedInstance['instance']> {
  const instanceId = randomUUID();
  try {
    return await server.client.call(
      'createInstance',
      {
        ...request,
        instanceId,
        workspaceSourceRoots: [...request.workspaceSourceRoots],
        environment: { ...request.environment },
      },
      { signal },
    );
  } catch (error) {
    // The answer may be lost and the instance there, so it is stopped by the id that only it can have.
    await server.stopInstance(instanceId);
    throw error;
  }
}

function reportOf(server: ScopeReport['server']): ScopeReport {
  return { scope: SCOPE, server, refusal: null, detail: '', warnings: [] };
}

function refusalOf(adoption: Exclude<AdoptionResult, { kind: 'adopted' }>): ScopeReport['refusal'] {
  if (adoption.kind === 'refused') return adoption.reason;
  return adoption.kind === 'absent' && adoption.why === 'no_answer' ? 'no_answer' : null;
}

function describe(adoption: Exclude<AdoptionResult, { kind: 'adopted' }>): string {
  switch (adoption.kind) {
    case 'refused':
      return `${adoption.reason}: ${adoption.detail}`;
    case 'incompatible_stopped':
      return `an own server without ${adoption.missing.join(', ')} was stopped`;
    case 'absent':
      return ABSENT[adoption.why];
  }
}

const ABSENT = {
  no_record: 'first start',
  no_answer: 'the server on record is gone',
  shutting_down: 'the server on record is stopping',
} as const;
