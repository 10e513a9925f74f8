import type { NpmFailureClass } from '@holdfast/control-protocol';
import type { Exit } from '../agent/agent-process.ts';
import { executionKey } from './execution-key.ts';
import { readNpmReport, type NpmReport } from './npm-report.ts';

/** What is known of a start of a package by npm that failed. */
export interface FailedNpmStart {
  /** The spec that npm was asked for. */
  readonly spec: string;
  /** The last lines of stderr. */
  readonly stderr: readonly string[];
  /** How npm's process ended by itself; null when it had not. */
  readonly exit: Exit | null;
  /** Whether the agent had answered `initialize`: npm had done its part by then. */
  readonly initialized: boolean;
}

/**
 * The class of a failed start (RUNTIME-001.1). Wherever the evidence is not whole the answer is the less specific class:
 * `npm_stale_metadata` makes a host start the agent again.
 */
export function classifyNpmFailure({ spec, stderr, exit, initialized }: FailedNpmStart): NpmFailureClass {
  if (exit === null || exit.code === 0) return 'none';
  if (initialized) return 'unexplained_exit';
  const report = readNpmReport(stderr);
  const code = report.codes.at(-1);
  const named = code === undefined ? withoutCode(report, exit) : withCode(code, report, spec, exit);
  return named ?? brokenTree(report, spec, exit) ?? 'unexplained_exit';
}

function withCode(code: string, report: NpmReport, spec: string, exit: Exit): NpmFailureClass | undefined {
  switch (code) {
    case 'ETARGET':
      return missingVersion(report, spec, exit);
    case 'ENOVERSIONS':
      return report.errors.includes(`No versions available for ${nameOf(spec)}`)
        ? 'npm_release_policy'
        : 'npm_broken_dependency';
    case 'E404':
      return isAbout(spec, report) ? 'npm_not_found' : 'npm_broken_dependency';
    case 'EJSONPARSE':
      // npm parses no other package.json outside a project.
      return 'npm_broken_tree';
    default:
      if (FILESYSTEM.has(code)) return atFile(code, report, spec);
      return BY_CODE[code] ?? (/^E[45]\d\d$/.test(code) || TLS.test(code) ? 'npm_network' : undefined);
  }
}

/** npm found no such version: of the package itself, or of something it depends on. */
function missingVersion(report: NpmReport, spec: string, exit: Exit): NpmFailureClass | undefined {
  const found = report.errors.flatMap((text) => NO_MATCH.exec(text)?.[1] ?? []);
  const [first, ...rest] = found;
  if (first === undefined) return undefined;
  if (first.startsWith(`${spec} with a date before `)) return 'npm_release_policy';
  if (first !== `${spec}.`) return 'npm_broken_dependency';
  const isWhole =
    rest.length === 0 &&
    report.codes.length === 1 &&
    report.errors[0] === 'code ETARGET' &&
    !report.goesOn &&
    exit.code !== null;
  return isWhole ? 'npm_stale_metadata' : undefined;
}

const NO_MATCH = /^notarget No matching version found for (.+)$/;

/** npm 10 and 11 word it differently; both name what they asked the registry for. */
function isAbout(spec: string, { errors }: NpmReport): boolean {
  const name = nameOf(spec);
  return errors.some((text) => {
    const asked =
      /^404 {2}(?:The requested resource )?'(.+)' (?:is not in this registry|could not be found)/.exec(text);
    return asked?.[1] === name || asked?.[1]?.startsWith(`${name}@`) === true;
  });
}

function nameOf(spec: string): string {
  const mark = spec.lastIndexOf('@');
  return mark > 0 ? spec.slice(0, mark) : spec;
}

function atFile(code: string, { errors }: NpmReport, spec: string): NpmFailureClass {
  // A firewall refuses a connection with EACCES or EPERM as well.
  if (errors.includes('syscall connect')) return 'npm_network';
  const isInTree = errors.some((text) => text.startsWith('path ') && isWithinTree(text, spec));
  return LEFT_OVER.has(code) && isInTree ? 'npm_broken_tree' : 'npm_filesystem';
}

/** Without a code: npm could not choose a program, or a full disk ended it in the middle. */
function withoutCode({ errors, remarks }: NpmReport, exit: Exit): NpmFailureClass | undefined {
  if (errors.some((text) => NOT_RUNNABLE.test(text))) return 'npm_invalid';
  const unpacking = remarks.flatMap(
    (text) => /^(?:warn|WARN) tar TAR_ENTRY_ERROR ([A-Z]+)/.exec(text)?.[1] ?? [],
  );
  if (exit.code !== null && unpacking.some((code) => FILESYSTEM.has(code))) return 'npm_filesystem';
  return undefined;
}

const NOT_RUNNABLE = /^(?:could not determine executable to run$|npx canceled due to |canceled$)/;

/** The program of the installed copy is missing, or a file of it is half there. */
function brokenTree(report: NpmReport, spec: string, exit: Exit): NpmFailureClass | undefined {
  const [line = '', ...rest] = report.others;
  if (exit.code === 127 && rest.length === 0 && SHELL_NOT_FOUND.test(line)) return 'npm_broken_tree';
  const isConfigBroken = report.others.some(
    (text) => text.startsWith('Error: Invalid package config ') && isWithinTree(text, spec),
  );
  return isConfigBroken ? 'npm_broken_tree' : undefined;
}

// In any language. Line 0 is about a script that the shell itself was to read.
const SHELL_NOT_FOUND = /^(?:\S*\/)?(?:ba|da|z|k)?sh: (?!0: )(?:[^:]*\d: )?[^\s:]+ ?: [^:]+$/;

function isWithinTree(text: string, spec: string): boolean {
  return text.includes(`/_npx/${executionKey(spec)}/`);
}

const FILESYSTEM = new Set(
  (
    'EACCES EPERM EROFS ENOSPC EDQUOT EIO EMFILE ENFILE ELOOP ENAMETOOLONG ' +
    'ENOTDIR EISDIR EEXIST ENOENT ENOTEMPTY EBUSY EXDEV'
  ).split(' '),
);

/** Within the installed copy these come from what an install that was cut short has left there. */
const LEFT_OVER = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR']);

const TLS = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY)_)/;

const BY_CODE: Readonly<Record<string, NpmFailureClass>> = {
  E401: 'npm_auth',
  E402: 'npm_auth',
  E403: 'npm_auth',
  ENEEDAUTH: 'npm_auth',
  EOTP: 'npm_auth',
  ENOTFOUND: 'npm_network',
  EAI_AGAIN: 'npm_network',
  ECONNREFUSED: 'npm_network',
  ECONNRESET: 'npm_network',
  ECONNABORTED: 'npm_network',
  ETIMEDOUT: 'npm_network',
  ESOCKETTIMEDOUT: 'npm_network',
  ERR_SOCKET_TIMEOUT: 'npm_network',
  EHOSTUNREACH: 'npm_network',
  ENETUNREACH: 'npm_network',
  EPIPE: 'npm_network',
  EPROTO: 'npm_network',
  EINVALIDPROXY: 'npm_network',
  ENOTCACHED: 'npm_network',
  FETCH_ERROR: 'npm_network',
  EINTEGRITY: 'npm_integrity',
  TAR_BAD_ARCHIVE: 'npm_integrity',
  Z_BUF_ERROR: 'npm_integrity',
  Z_DATA_ERROR: 'npm_integrity',
  ECOMPROMISED: 'npm_contention',
  EBADPLATFORM: 'npm_unsupported',
  EBADENGINE: 'npm_unsupported',
  ERESOLVE: 'npm_broken_dependency',
  EINVALIDPACKAGENAME: 'npm_invalid',
  EINVALIDTAGNAME: 'npm_invalid',
  EUNSUPPORTEDPROTOCOL: 'npm_invalid',
  ESTRICTALLOWSCRIPTS: 'npm_scripts_blocked',
};
