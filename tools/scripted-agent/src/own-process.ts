/** What a step may do to the process it runs in. */
export interface OwnProcess {
  /** The value of one of its environment variables. */
  environment(name: string): string | undefined;
  /** Writes a line to standard error. */
  complain(text: string): void;
  /** Ends the process, by the signal if there is one. */
  end(how: { readonly exitCode: number } | { readonly signal: NodeJS.Signals }): Promise<never>;
  ignoreSigterm(): void;
  /** Takes memory and keeps it. */
  takeMemory(bytes: number): void;
  /** Closes standard output. */
  closeOutput(): void;
  /** Closes standard input; the process lives on. */
  closeInput(): void;
}
