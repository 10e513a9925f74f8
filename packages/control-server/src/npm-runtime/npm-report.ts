import { stripVTControlCharacters } from 'node:util';

/** What npm itself says on stderr, apart from what the programs it runs say there. */
export interface NpmReport {
  /** The codes of its error, in the order in which they were written; one, unless npm was run by what npm ran. */
  readonly codes: readonly string[];
  /** Its error lines without their head, the one with the code included. */
  readonly errors: readonly string[];
  /** Its warnings and notices, without the head `npm`. */
  readonly remarks: readonly string[];
  /** Lines that are neither npm's nor Node's own. */
  readonly others: readonly string[];
  /** Whether something else was written after npm's error began. */
  readonly goesOn: boolean;
}

// npm 9 writes ERR! and WARN where newer ones write error and warn.
const ERROR_LINE = /^npm (?:error|ERR!)(?: (.*))?$/;
const REMARK_LINE = /^npm (\S.*)$/;
const CODE_LINE = /^code ([A-Z][A-Z0-9_]*)$/;

/**
 * What Node itself writes, by its settings and in any moment, whatever it runs: process warnings, complaints about the
 * certificates of the environment, and the inspector's remarks.
 */
const NODE_LINES = [
  /^\(node:\d+\) (?:\[\w+\] )?\w*Warning: /,
  /^\(Use `\S+ --trace-[a-z-]+ \.\.\.` to show where the warning was created\)$/,
  /^Warning: Ignoring extra certs from `/,
  /^Debugger (?:listening on ws:|ending on ws:|attached\.$)/,
  /^(?:For help, see: https:\/\/nodejs\.org\/|Waiting for the debugger to disconnect\.\.\.$)/,
  /^Starting inspector on \S+ failed: /,
];

/** Reads the lines of a process's stderr. */
export function readNpmReport(lines: readonly string[]): NpmReport {
  const codes: string[] = [];
  const errors: string[] = [];
  const remarks: string[] = [];
  const others: string[] = [];
  let goesOn = false;
  for (const raw of lines) {
    const line = stripVTControlCharacters(raw).trimEnd();
    const error = ERROR_LINE.exec(line);
    const remark = REMARK_LINE.exec(line);
    if (error !== null) {
      const text = error[1] ?? '';
      const code = CODE_LINE.exec(text)?.[1];
      if (code !== undefined) codes.push(code);
      errors.push(text);
    } else if (remark !== null) {
      remarks.push(remark[1] ?? '');
    } else if (line !== '' && !NODE_LINES.some((own) => own.test(line))) {
      others.push(line);
      goesOn ||= errors.length > 0;
    }
  }
  return { codes, errors, remarks, others, goesOn };
}
