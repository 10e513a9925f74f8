import { stripVTControlCharacters } from 'node:util';

/** What npm itself says on stderr, apart from what the programs it runs say there. */
export interface NpmReport {
  /** The codes of its error, in the order in which they were written; one, unless npm was run by what npm ran. */
  readonly codes: readonly string[];
  /** Its error lines without their head, the one with the code included. */
  readonly errors: readonly string[];
  /** Its warnings and notices, without the head `npm`. */
  readonly remarks: readonly string[];
  /** Lines that are not npm's. */
  readonly others: readonly string[];
  /** Whether something else was written after npm's error began. */
  readonly goesOn: boolean;
}

// npm 9 writes ERR! and WARN where newer ones write error and warn.
const ERROR_LINE = /^npm (?:error|ERR!)(?: (.*))?$/;
const REMARK_LINE = /^npm (\S.*)$/;
const CODE_LINE = /^code ([A-Z][A-Z0-9_]*)$/;

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
    } else if (line !== '') {
      others.push(line);
      goesOn ||= errors.length > 0;
    }
  }
  return { codes, errors, remarks, others, goesOn };
}
