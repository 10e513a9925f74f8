import type { StartAgent, StartedAgent } from '@holdfast/control-protocol';
import { ControlClient, type EventStream, type InputOf } from '@holdfast/control-protocol/client';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { testHome, until, type TestHome } from '@holdfast/testbeds';
import { z } from 'zod';
import { startControlServer, type ControlServer, type ControlServerOptions } from '../../src/index.ts';
import { ManualClock, fastClock } from './manual-clock.ts';

export type Steps = Parameters<typeof script>;
type Delivered = {
  readonly seq: number;
  readonly event: { readonly type: string; readonly [field: string]: unknown };
};

const Chunk = z.object({ update: z.object({ content: z.object({ text: z.string() }) }) });

export const NONCE = 'nonce-of-this-test';

/** A server in this process, owned by the test, with a client that drives it. */
export interface OwnedServer extends AsyncDisposable {
  readonly server: ControlServer;
  readonly home: TestHome;
  readonly credential: string;
  readonly client: ControlClient;
  /** A client without a credential. */
  readonly stranger: ControlClient;
}

/**
 * Options for a server on which time passes `factor` times as fast. Agents start no faster for that, so what limits their start,
 * and the owner who waits for it, is as many times as long.
 */
export function accelerated(
  factor: number,
): Required<Pick<ControlServerOptions, 'clock' | 'startBudgets' | 'settings'>> {
  const startMs = 300_000 * factor;
  return {
    clock: fastClock(factor),
    startBudgets: { initializeMs: startMs, sessionMs: startMs },
    settings: { ...SETTINGS, unownedPeriodMs: startMs, idleTimeoutMs: 0 },
  };
}

export const SETTINGS = { unownedPeriodMs: 600_000, detachedEventLimit: 100, idleTimeoutMs: 3_600_000 };

export async function ownedServer(options: Partial<ControlServerOptions> = {}): Promise<OwnedServer> {
  const home = await testHome('control-server');
  const server = await startControlServer({
    home: home.root,
    nonce: NONCE,
    settings: SETTINGS,
    environment: process.env,
    stopGraceMs: 1000,
    ...options,
  });
  const stranger = new ControlClient({ endpoint: server.endpoint, timeoutMs: 60_000 });
  const { credential } = await stranger.call('bootstrap', { nonce: NONCE });
  return {
    server,
    home,
    credential,
    stranger,
    client: stranger.withCredential(credential),
    async [Symbol.asyncDispose]() {
      const stopping = server.stop();
      await (options.clock instanceof ManualClock ? options.clock.runWhile(stopping) : stopping);
      await home[Symbol.asyncDispose]();
    },
  };
}

/** How the server ended, which must be soon. */
export async function endOf({ server }: Pick<OwnedServer, 'server'>): Promise<{ readonly why: string }> {
  let end: { readonly why: string } | undefined;
  void server.ended.then((ended) => {
    end = ended;
  });
  return await until(() => end, { reason: 'the server to end', withinMs: 60_000 });
}

/** One instance on a server, and short words for what is done to it most. */
export class InstanceOf {
  readonly client: ControlClient;
  readonly instanceId: string;

  constructor(client: ControlClient, instanceId: string) {
    this.client = client;
    this.instanceId = instanceId;
  }

  static async create(
    { client, home }: Pick<OwnedServer, 'client' | 'home'>,
    facts: Partial<InputOf<'createInstance'>> = {},
  ): Promise<InstanceOf> {
    const { instanceId } = await client.call('createInstance', {
      executionId: 'execution-1',
      sessionId: 'session-1',
      taskId: 'task-1',
      workspacePath: await home.folder('workspace'),
      workspaceSourceRoots: [],
      environment: {},
      ...facts,
    });
    return new InstanceOf(client, instanceId);
  }

  async start(facts: Partial<StartAgent> = {}): Promise<StartedAgent> {
    return await this.client.call('startAgent', {
      instanceId: this.instanceId,
      command: scriptedAgentCommand(),
      session: { kind: 'new' },
      mcpServers: [],
      approval: 'ask',
      ...facts,
    });
  }

  async prompt(promptGeneration: number, ...steps: Steps): Promise<string> {
    const { turnId } = await this.client.call('prompt', {
      instanceId: this.instanceId,
      promptGeneration,
      content: [{ type: 'text', text: script(...steps) }],
    });
    return turnId;
  }

  async describe() {
    return await this.client.call('getInstance', { instanceId: this.instanceId });
  }

  async turns() {
    return await this.client.call('getTurn', { instanceId: this.instanceId });
  }

  async attach(after: number): Promise<EventStream> {
    return await this.client.openEvents(this.instanceId, { after });
  }

  /** Waits until the instance looks as described. */
  async untilIt(
    reason: string,
    look: (it: Awaited<ReturnType<InstanceOf['describe']>>) => boolean,
  ): Promise<void> {
    await until(async () => look(await this.describe()), { reason, withinMs: 60_000 });
  }
}

/** Reads a stream until an event fits, acknowledging nothing unless told; gives all that was delivered, that one included. */
export async function readUntil(
  stream: EventStream,
  fits: (delivered: Delivered) => boolean,
  options: { readonly acknowledge?: boolean } = {},
): Promise<Delivered[]> {
  const all: Delivered[] = [];
  for (;;) {
    const next = await stream[Symbol.asyncIterator]().next();
    if (next.done === true) {
      const end = await stream.ended;
      throw new Error(
        `the stream ended (${String(end.code)} ${end.reason}) after ${JSON.stringify(all.slice(-5))}`,
      );
    }
    if (next.value.type !== 'events') continue;
    all.push(...next.value.events);
    const last = next.value.events.at(-1);
    if (options.acknowledge === true && last !== undefined) stream.acknowledge(last.seq);
    if (next.value.events.some((delivered) => fits(delivered))) return all;
  }
}

/** The texts of the message chunks among events. */
export function textsOf(events: readonly Delivered[]): string[] {
  return events.flatMap(({ event }) => {
    const chunk = Chunk.safeParse(event);
    return chunk.success ? [chunk.data.update.content.text] : [];
  });
}

export const isType =
  (type: string) =>
  ({ event }: Delivered): boolean =>
    event.type === type;
