/** A control server ended, or said something else, before it listened; or it took too long. */
export class ServerStartError extends Error {
  override readonly name = 'ServerStartError';
  readonly code = 'server_start_failed';
  readonly command: readonly string[];
  /** Null when it has not ended by itself. */
  readonly exitCode: number | null;
  /** The last part of what it wrote to standard error. */
  readonly stderr: string;

  constructor(facts: {
    command: readonly string[];
    why: string;
    exitCode: number | null;
    stderr: string;
    cause?: unknown;
  }) {
    const said = facts.stderr.trim();
    super(
      `The control server (${facts.command.join(' ')}) did not start: ${facts.why}${said === '' ? '.' : `. It wrote:\n${said}`}`,
      { cause: facts.cause },
    );
    this.command = facts.command;
    this.exitCode = facts.exitCode;
    this.stderr = facts.stderr;
  }
}
