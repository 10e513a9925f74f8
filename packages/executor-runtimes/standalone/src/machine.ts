import { execFile, type ExecFileException } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { localProcesses, type LocalProcesses } from './local-processes.ts';

/** How a short command ended. */
export interface CommandResult {
  readonly succeeded: boolean;
  readonly stdout: string;
  /** What it wrote to standard error, or why it could not be run. */
  readonly complaint: string;
}

/** With what a short command is run. */
export interface CommandSurroundings {
  /** Its whole environment; the command is looked for along its `PATH`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** What a runtime asks the machine it runs on. */
export interface Machine {
  readonly processes: LocalProcesses;
  /** Null where users have no number. */
  readonly userId: number | null;
  /** The text of `/proc/self/cgroup`; empty where there is none. */
  readCgroup(): Promise<string>;
  /** Runs a command to its end, or kills it at the limit. Rejects with the signal's reason only. */
  run(command: readonly string[], surroundings: CommandSurroundings): Promise<CommandResult>;
}

/** This machine; a command may take as long as the limit. */
export function thisMachine({ commandLimitMs }: { readonly commandLimitMs: number }): Machine {
  return {
    processes: localProcesses(process.platform),
    userId: process.getuid?.() ?? null,
    readCgroup: async () => await readFile('/proc/self/cgroup', 'utf8').catch(() => ''),
    run: async (command, surroundings) => await runCommand(command, surroundings, commandLimitMs),
  };
}

async function runCommand(
  [program = '', ...args]: readonly string[],
  { environment, signal }: CommandSurroundings,
  limitMs: number,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const options = { cwd: '/', env: environment, signal, timeout: limitMs, killSignal: 'SIGKILL' } as const;
  const result = await new Promise<CommandResult>((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ succeeded: error === null, stdout, complaint: stderr.trim() || why(error, limitMs) });
    });
  });
  signal.throwIfAborted();
  return result;
}

function why(error: ExecFileException | null, limitMs: number): string {
  if (error === null) return '';
  if (error.killed === true) return `no answer within ${String(limitMs)} ms`;
  return typeof error.code === 'number'
    ? `nothing, and ended with code ${String(error.code)}`
    : error.message;
}
