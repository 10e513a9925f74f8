import { ControlClient, type InputOf } from '@holdfast/control-protocol/client';
import { controlServerCommand } from '@holdfast/control-server';
import { startProgram } from '@holdfast/testbeds';

const NONCE = 'nonce-of-the-benchmark';

/** A control server in a process of its own, with its driver's access. */
export interface BenchServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly credential: string;
  readonly client: ControlClient;
}

/** Starts the command in a folder, with so many events for a detached instance. */
export async function startBenchServer(folder: string, detachedEventLimit: number): Promise<BenchServer> {
  const program = await startProgram([...controlServerCommand(), '--home', folder], {
    cwd: folder,
    env: { NODE_OPTIONS: undefined, KANDEV_ACP_DETACHED_EVENT_LIMIT: String(detachedEventLimit) },
  });
  program.write(`${JSON.stringify({ nonce: NONCE })}\n`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the first line of our own program
  const { endpoint } = JSON.parse(await program.nextLine('{', { withinMs: 60_000 })) as { endpoint: string };
  const stranger = new ControlClient({ endpoint, timeoutMs: 60_000 });
  const { credential } = await stranger.call('bootstrap', { nonce: NONCE });
  return {
    endpoint,
    credential,
    client: stranger.withCredential(credential),
    async [Symbol.asyncDispose]() {
      await stranger.withCredential(credential).call('shutdown', {});
      await program.exited;
      await program[Symbol.asyncDispose]();
    },
  };
}

/** Creates an instance with an agent that is ready for prompts. */
export async function startInstance(
  client: ControlClient,
  facts: Pick<InputOf<'createInstance'>, 'instanceId' | 'workspacePath'> & { readonly command: string[] },
): Promise<string> {
  const { command, ...where } = facts;
  const { instanceId } = await client.call('createInstance', {
    executionId: 'execution',
    sessionId: 'session',
    taskId: 'task',
    workspaceSourceRoots: [],
    environment: {},
    ...where,
  });
  await client.call('startAgent', {
    instanceId,
    command,
    session: { kind: 'new' },
    mcpServers: [],
    approval: 'ask',
  });
  return instanceId;
}
