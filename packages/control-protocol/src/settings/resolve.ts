import { SETTINGS, type SettingName, type SettingRow, type Settings } from './catalogue.ts';
import { formatDuration } from './duration.ts';
import { SettingError } from './setting-error.ts';

/** Where settings come from: explicit options win over the environment, that over the default. */
export interface SettingSources {
  /** Texts as in the environment (`"10m"`), or values (milliseconds, numbers, booleans). */
  readonly options?: { readonly [K in SettingName]?: Settings[K] | string | undefined };
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

interface Resolved<Value> {
  readonly value: Value;
  readonly source: string;
}

function resolveRow<Value extends number | boolean>(
  name: string,
  row: SettingRow<Value>,
  option: Value | string | undefined,
  text: string | undefined,
): Resolved<Value> {
  const source =
    option !== undefined
      ? `option ${name}`
      : text !== undefined
        ? `environment ${row.environment}`
        : 'default';
  const given = option ?? text ?? row.default;
  const value = typeof given === 'string' ? row.parse(given) : row.accepts(given) ? given : undefined;
  if (value === undefined) {
    throw new SettingError({ setting: row.key, value: String(given), source, accepted: row.accepted });
  }
  return { value, source };
}

const LONGEST_READ_BUDGET_MS = 6000;

/**
 * The complete settings, checked, or a {@link SettingError} that names the setting, the value, where it came from and
 * what is accepted (CONTRACT-15). The read budget (timeout × attempts) is checked against the deadline as well
 * (SURVIVAL-002.13).
 */
export function resolveSettings({ options = {}, environment = {} }: SettingSources): Settings {
  const resolve = <Value extends number | boolean>(
    name: SettingName,
    row: SettingRow<Value>,
    option: Value | string | undefined,
  ): Resolved<Value> => resolveRow(name, row, option, environment[row.environment]);

  const deadline = resolve('recoveryDeadlineMs', SETTINGS.recoveryDeadlineMs, options.recoveryDeadlineMs);
  const timeout = resolve(
    'recoveryReadTimeoutMs',
    SETTINGS.recoveryReadTimeoutMs,
    options.recoveryReadTimeoutMs,
  );
  const retries = resolve('recoveryReadRetries', SETTINGS.recoveryReadRetries, options.recoveryReadRetries);
  const budgetMs = timeout.value * (retries.value + 1);
  const longestMs = Math.min(LONGEST_READ_BUDGET_MS, deadline.value / 5);
  if (budgetMs > longestMs) {
    throw new SettingError({
      setting: SETTINGS.recoveryReadTimeoutMs.key,
      value: formatDuration(timeout.value),
      source: timeout.source,
      accepted:
        `such that timeout × (retries + 1) is at most ${formatDuration(Math.floor(longestMs))} ` +
        `(6s, and a fifth of the deadline of ${formatDuration(deadline.value)}); ` +
        `with ${String(retries.value)} retries it is ${formatDuration(budgetMs)}`,
    });
  }
  return {
    recoveryDeadlineMs: deadline.value,
    recoveryReadTimeoutMs: timeout.value,
    recoveryReadRetries: retries.value,
    unownedPeriodMs: resolve('unownedPeriodMs', SETTINGS.unownedPeriodMs, options.unownedPeriodMs).value,
    detachedEventLimit: resolve('detachedEventLimit', SETTINGS.detachedEventLimit, options.detachedEventLimit)
      .value,
    idleTimeoutMs: resolve('idleTimeoutMs', SETTINGS.idleTimeoutMs, options.idleTimeoutMs).value,
    agentSurvival: resolve('agentSurvival', SETTINGS.agentSurvival, options.agentSurvival).value,
  };
}

/** The environment by which a launcher passes the control server's settings on to it (CONTRACT-16). */
export function controlServerEnvironment(
  settings: Pick<Settings, 'unownedPeriodMs' | 'detachedEventLimit' | 'idleTimeoutMs'>,
): Record<string, string> {
  const { unownedPeriodMs, detachedEventLimit, idleTimeoutMs } = SETTINGS;
  return {
    [unownedPeriodMs.environment]: unownedPeriodMs.format(settings.unownedPeriodMs),
    [detachedEventLimit.environment]: detachedEventLimit.format(settings.detachedEventLimit),
    [idleTimeoutMs.environment]: idleTimeoutMs.format(settings.idleTimeoutMs),
  };
}
