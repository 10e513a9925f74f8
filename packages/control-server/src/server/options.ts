import { access, constants, stat } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { isAbsolute, join, resolve } from 'node:path';
import { CAPABILITIES, resolveSettings, type Settings } from '@holdfast/control-protocol';
import { START_BUDGETS, type StartBudgets } from '../instances/start-agent.ts';
import type { OwnershipStep } from '../ownership/ownership-step.ts';
import { systemClock, type Clock } from '../ports/clock.ts';
import { makeFolder } from '../ports/make-folder.ts';
import type { RandomBytes } from '../ports/random.ts';
import { systemCode } from '../ports/system-error.ts';

/** How to run a control server. */
export interface ControlServerOptions {
  /** The installation's home directory; created with mode 0700 when it is missing. */
  readonly home: string;
  /** Where to listen; loopback unless told otherwise. */
  readonly listenHost?: string;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** `<home>/logs/control-server.log` unless told otherwise. */
  readonly logFile?: string;
  /** The one-time secret of the bootstrap. Null: nobody can own the server, and it ends after the unowned period. */
  readonly nonce: string | null;
  /** Values as `resolveSettings` gives them; others are refused with a `SettingError` (SURVIVAL-001.8). */
  readonly settings: Pick<Settings, 'unownedPeriodMs' | 'detachedEventLimit' | 'idleTimeoutMs'>;
  /** The environment of the server; of it agents see where things are and the language, nothing else. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly startBudgets?: StartBudgets;
  /** Between SIGTERM and SIGKILL for agents, in milliseconds; 5000 unless told otherwise. */
  readonly stopGraceMs?: number;
  /** What the identity advertises; all that this version can do unless told otherwise. For tests of upgrades. */
  readonly capabilities?: readonly string[];
  /**
   * Called at each step of a change of ownership, which waits for it. When it throws or rejects, the connection ends without an
   * answer, and what has taken effect stays. For tests that break in between two steps.
   */
  readonly onOwnershipStep?: (step: OwnershipStep) => void | Promise<void>;
}

/** The options, complete. */
export type CompleteOptions = Required<ControlServerOptions>;

/** The home directory cannot be used; the message says why. */
export class HomeNotUsableError extends Error {
  override readonly name = 'HomeNotUsableError';
  readonly code = 'home_not_usable';
  readonly home: string;

  constructor(home: string, why: string) {
    super(`The home directory ${home} cannot be used: ${why}. Give a directory that this user can write to.`);
    this.home = home;
  }
}

/** Completes the options and makes sure of the home; throws {@link HomeNotUsableError} or `SettingError`. */
export async function completeOptions(options: ControlServerOptions): Promise<CompleteOptions> {
  const settings = resolveSettings({ options: options.settings });
  const home = resolve(options.home);
  await prepareHome(home);
  const logFile = options.logFile ?? join(home, 'logs', 'control-server.log');
  return {
    home,
    listenHost: options.listenHost ?? '127.0.0.1',
    port: options.port ?? 0,
    logFile: isAbsolute(logFile) ? logFile : resolve(logFile),
    nonce: options.nonce,
    settings,
    environment: options.environment,
    clock: options.clock ?? systemClock(),
    random: options.random ?? randomBytes,
    startBudgets: options.startBudgets ?? START_BUDGETS,
    stopGraceMs: options.stopGraceMs ?? 5000,
    capabilities: options.capabilities ?? CAPABILITIES,
    onOwnershipStep: options.onOwnershipStep ?? (() => undefined),
  };
}

async function prepareHome(home: string): Promise<void> {
  try {
    makeFolder(home);
    if (!(await stat(home)).isDirectory()) throw new HomeNotUsableError(home, 'it is not a directory');
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof HomeNotUsableError) throw error;
    const code = systemCode(error) ?? 'unknown';
    throw new HomeNotUsableError(home, code === 'ENOTDIR' ? 'it is not a directory' : code);
  }
}
