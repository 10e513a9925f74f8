import { resolve } from 'node:path';
import { SETTINGS, resolveSettings, type SettingName, type Settings } from '@holdfast/control-protocol';
import type { RuntimeFactory } from '@holdfast/executor-contract';
import type { LedgerOptions, PostgresOptions } from '@holdfast/turn-ledger';
import { isPostgresUrl, withoutSecrets } from '@holdfast/turn-ledger/postgres-url';
import { checkAgent, type AgentOptions, type AgentProfile } from './agents/agent-options.ts';
import {
  FUNCTION,
  OBJECT,
  SIGNAL,
  TEXT,
  assertGiven,
  assertIfGiven,
  assertKnownNames,
} from './check-given.ts';
import { HostOptionError } from './host-errors.ts';
import type { HostEventListener } from './host-events.ts';
import { registeredMeterProvider, type MeterProvider } from './metrics/meter.ts';
import type { RecoveringHost } from './startup/recovering-host.ts';
import type { OnTurnComplete } from './turns/on-turn-complete.ts';

/** What {@link createHost} takes. */
export interface HostOptions {
  /** The directory of the installation; made if it is not there. One host at a time acts on it. */
  readonly home: string;
  /**
   * A path or `sqlite:` URL; relative to the home. Or a `postgres:` URL, which needs the package `pg`. Default `ledger.db`.
   */
  readonly ledger?: string;
  /** How a ledger in PostgreSQL uses its server. */
  readonly postgres?: PostgresOptions;
  /**
   * A `postgres:` URL, for hosts on several machines that share what they act on: one at a time holds a lock in that database,
   * beside that of its home. Needs the package `pg`, and a connection that no pooler shares. The database keeps one such
   * lock. Default: the ledger's database where that is in PostgreSQL, else none.
   */
  readonly sharedLock?: string;
  /** Whether agents outlive this process. Default: the setting, which is off unless the environment says on. */
  readonly survival?: 'on' | 'off';
  readonly runtimes: readonly RuntimeFactory[];
  /** The agents by name. */
  readonly agents: Readonly<Record<string, AgentOptions>>;
  /** The settings of the catalogue, over the environment and the defaults. */
  readonly settings?: { readonly [K in Exclude<SettingName, 'agentSurvival'>]?: Settings[K] | string };
  /** Where settings are read from and what runtimes may pass on. Default: that of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where counters go. Default: the provider that is registered with `@opentelemetry/api` when the host is created, or nowhere. */
  readonly meterProvider?: MeterProvider;
  /** Stops the start-up. */
  readonly signal?: AbortSignal;
  /** Hears everything from the first moment on, recovery included. */
  readonly onEvent?: HostEventListener;
  /**
   * Called once a prompt has ended and its outcome is durable, under the guard of its session: what is to follow is decided
   * here. It may prompt the session again; it must not wait for that turn's outcome. It is not called for a prompt that another
   * one has overtaken, and once at most: a host that dies in between finds the outcome in the ledger.
   */
  readonly onTurnComplete?: OnTurnComplete;
  /**
   * How long a cancelled turn may go on before the host ends it itself and stops its agent, in milliseconds. Default 35 000,
   * which is above the 30 000 after which a control server does.
   */
  readonly cancelLimitMs?: number;
  /** Called when recovery begins, for a host that must listen before it is over. */
  readonly onRecovering?: (host: RecoveringHost) => void;
}

/** The options, checked and complete: nothing behind this asks for a default again. */
export interface CheckedHostOptions {
  readonly home: string;
  /** As `openLedger` takes it. */
  readonly ledger: Pick<LedgerOptions, 'url' | 'postgres'>;
  /** The URL of the database that keeps the shared lock, or null. */
  readonly sharedLock: string | null;
  /** The shared lock is taken again after an outage, as the ledger is used again. */
  readonly keepsSharedLock: boolean;
  readonly settings: Settings;
  readonly runtimes: readonly RuntimeFactory[];
  readonly agents: ReadonlyMap<string, AgentProfile>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly meterProvider: MeterProvider;
  readonly signal: AbortSignal;
  readonly onEvent: HostEventListener;
  readonly onRecovering: (host: RecoveringHost) => void;
  readonly onTurnComplete: OnTurnComplete;
  readonly cancelLimitMs: number;
}

const CANCEL_LIMIT_MS = 35_000;
const LONGEST_CANCEL_LIMIT_MS = 3_600_000;

/** Checks what a user gave; throws {@link HostOptionError} or the settings' `SettingError`. Touches nothing. */
export function checkHostOptions(options: HostOptions): CheckedHostOptions {
  assertShape(options);
  if (typeof options.home !== 'string' || options.home === '' || options.home.includes('\0')) {
    throw new HostOptionError('home', options.home, 'the path of a directory');
  }
  const survival: unknown = options.survival;
  if (survival !== undefined && survival !== 'on' && survival !== 'off') {
    throw new HostOptionError('survival', survival, '"on" or "off"');
  }
  const ledgerUrl = options.ledger ?? 'ledger.db';
  const isShared = isPostgresUrl(ledgerUrl);
  const sharedLock = options.sharedLock ?? (isShared ? ledgerUrl : null);
  if (sharedLock !== null && !isPostgresUrl(sharedLock)) {
    throw new HostOptionError('sharedLock', withoutSecrets(sharedLock), 'a "postgres:" URL');
  }
  const cancelLimitMs = options.cancelLimitMs ?? CANCEL_LIMIT_MS;
  if (!Number.isInteger(cancelLimitMs) || cancelLimitMs < 1 || cancelLimitMs > LONGEST_CANCEL_LIMIT_MS) {
    throw new HostOptionError('cancelLimitMs', cancelLimitMs, 'a whole number from 1 to 3600000');
  }
  const kinds = options.runtimes.map((runtime) => runtime.kind);
  if (kinds.length === 0 || new Set(kinds).size < kinds.length) {
    throw new HostOptionError('runtimes', kinds, 'a list of at least one runtime, each kind once');
  }
  // oxlint-disable-next-line eslint/no-restricted-properties -- the one edge at which a host takes its process's environment
  const environment = options.environment ?? process.env;
  const home = resolve(options.home);
  return {
    home,
    ledger: {
      url: isShared ? ledgerUrl : ledgerFile(home, ledgerUrl),
      ...(options.postgres === undefined ? {} : { postgres: options.postgres }),
    },
    sharedLock,
    keepsSharedLock: isShared,
    settings: resolveSettings({
      environment,
      options: { ...options.settings, agentSurvival: options.survival },
    }),
    runtimes: options.runtimes,
    agents: new Map(Object.entries(options.agents).map(([name, agent]) => [name, checkAgent(name, agent)])),
    environment,
    meterProvider: options.meterProvider ?? registeredMeterProvider(),
    signal: options.signal ?? new AbortController().signal,
    onEvent: options.onEvent ?? (() => undefined),
    onRecovering: options.onRecovering ?? (() => undefined),
    onTurnComplete: options.onTurnComplete ?? (() => undefined),
    cancelLimitMs,
  };
}

const KNOWN = {
  home: true,
  ledger: true,
  postgres: true,
  sharedLock: true,
  survival: true,
  runtimes: true,
  agents: true,
  settings: true,
  environment: true,
  meterProvider: true,
  signal: true,
  onEvent: true,
  onTurnComplete: true,
  cancelLimitMs: true,
  onRecovering: true,
} satisfies Record<keyof HostOptions, true>;

/** Names and kinds: whoever writes JavaScript, or reads options from a file, may give anything. */
function assertShape(options: unknown): asserts options is HostOptions {
  assertGiven('options', options, OBJECT);
  assertKnownNames('options', options, KNOWN);
  for (const name of ['ledger', 'sharedLock'] as const) assertIfGiven(name, options[name], TEXT);
  for (const name of ['onEvent', 'onRecovering', 'onTurnComplete'] as const) {
    assertIfGiven(name, options[name], FUNCTION);
  }
  for (const name of ['postgres', 'settings', 'environment', 'meterProvider'] as const) {
    assertIfGiven(name, options[name], OBJECT);
  }
  assertIfGiven('signal', options['signal'], SIGNAL);
  assertGiven('agents', options['agents'], OBJECT);
  assertGiven('runtimes', options['runtimes'], {
    words: 'a list of runtimes, e.g. what standalone() gives',
    is: (value) => Array.isArray(value) && value.every(isRuntime),
  });
  const { agentSurvival: _, ...settings } = SETTINGS;
  assertKnownNames('settings', options['settings'] ?? {}, settings);
}

function isRuntime(value: unknown): value is RuntimeFactory {
  return OBJECT.is(value) && TEXT.is(value['kind']) && FUNCTION.is(value['create']);
}

function ledgerFile(home: string, ledger: string): string {
  const scheme = /^([a-z]+):/i.exec(ledger)?.[1]?.toLowerCase();
  if (ledger === '' || (scheme !== undefined && scheme !== 'sqlite')) {
    throw new HostOptionError(
      'ledger',
      withoutSecrets(ledger),
      'a file path, a "sqlite:" URL or a "postgres:" URL',
    );
  }
  return resolve(home, scheme === undefined ? ledger : ledger.slice('sqlite:'.length));
}
