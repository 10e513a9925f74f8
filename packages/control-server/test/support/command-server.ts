import { fileURLToPath } from 'node:url';
import { ControlClient } from '@holdfast/control-protocol/client';
import { startProgram, type ProgramOptions, type StartedProgram, type TestHome } from '@holdfast/testbeds';
import { z } from 'zod';
import { controlServerCommand, type OwnershipStep } from '../../src/index.ts';
import { NONCE } from './owned-server.ts';

/** A server in a process of its own, started by its command and owned by the test. */
export interface CommandServer extends AsyncDisposable {
  readonly program: StartedProgram;
  readonly pid: number;
  readonly client: ControlClient;
  readonly stranger: ControlClient;
}

const ReadyLine = z.strictObject({ serverId: z.string(), endpoint: z.string(), pid: z.int() });

/** The command on a clock `factor` times as fast. */
export function acceleratedCommand(factor: number): string[] {
  return [...fixtureCommand('accelerated-server.ts'), String(factor)];
}

/** The command with a bug that SIGUSR2 brings to light. */
export function failingCommand(): string[] {
  return fixtureCommand('failing-server.ts');
}

/** The command of a version with other capabilities. */
export function otherCapabilitiesCommand(capabilities: readonly string[]): string[] {
  return [...fixtureCommand('other-capabilities-server.ts'), capabilities.join(',')];
}

/** The command that kills itself at a step of a change of ownership. */
export function dyingCommand(step: OwnershipStep): string[] {
  return [...fixtureCommand('dying-server.ts'), step];
}

function fixtureCommand(name: string): string[] {
  const fixture = fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
  return [process.execPath, '--conditions=@holdfast/source', fixture];
}

export async function commandServer(
  home: TestHome,
  options: ProgramOptions & { readonly command?: readonly string[]; readonly args?: readonly string[] } = {},
): Promise<CommandServer> {
  const { command = controlServerCommand(), args = [], ...rest } = options;
  const program = await startProgram([...command, '--home', home.root, ...args], {
    ...rest,
    env: { NODE_OPTIONS: undefined, ...rest.env },
  });
  program.write(`{"nonce":"${NONCE}"}\n`);
  const line = await program.nextLine('endpoint', { withinMs: 60_000 });
  const { endpoint, pid } = ReadyLine.parse(JSON.parse(line));
  const stranger = new ControlClient({ endpoint, timeoutMs: 60_000 });
  const { credential } = await stranger.call('bootstrap', { nonce: NONCE });
  return {
    program,
    pid,
    client: stranger.withCredential(credential),
    stranger,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
    },
  };
}
