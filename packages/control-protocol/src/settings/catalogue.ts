import { formatDuration, parseDuration } from './duration.ts';

/** Who reads a setting. Those of the control server are passed on to it by whoever starts it (CONTRACT-16). */
export type SettingReader = 'backend' | 'control-server';

/** One row of the settings catalogue (CONTRACT-15). */
export interface SettingRow<Value> {
  readonly key: string;
  readonly environment: string;
  readonly reader: SettingReader;
  readonly default: Value;
  /** What is accepted, in words. */
  readonly accepted: string;
  /** The value that a text stands for, or undefined when it is not accepted. */
  readonly parse: (text: string) => Value | undefined;
  /** Whether a value given directly is accepted. */
  readonly accepts: (value: Value) => boolean;
  readonly format: (value: Value) => string;
}

function durationRow(
  row: Pick<SettingRow<number>, 'key' | 'environment' | 'reader' | 'accepted'> & {
    readonly default: string;
    readonly minMs: number;
    readonly maxMs: number;
  },
): SettingRow<number> {
  const accepts = (value: number): boolean =>
    Number.isSafeInteger(value) && value >= row.minMs && value <= row.maxMs;
  return {
    ...row,
    default: parseDuration(row.default) ?? row.minMs,
    accepts,
    parse: (text) => {
      const value = parseDuration(text);
      return value !== undefined && accepts(value) ? value : undefined;
    },
    format: formatDuration,
  };
}

function countRow(
  row: Pick<SettingRow<number>, 'key' | 'environment' | 'reader' | 'default'> & {
    readonly min: number;
    readonly max: number;
  },
): SettingRow<number> {
  const accepts = (value: number): boolean =>
    Number.isSafeInteger(value) && value >= row.min && value <= row.max;
  return {
    ...row,
    accepted: `a whole number from ${String(row.min)} to ${String(row.max)}`,
    accepts,
    parse: (text) => (/^\d{1,15}$/.test(text) && accepts(Number(text)) ? Number(text) : undefined),
    format: String,
  };
}

const LONGEST_MS = 365 * 24 * 3_600_000;

/** Every setting of Holdfast. Durations are milliseconds. */
export const SETTINGS = {
  recoveryDeadlineMs: durationRow({
    key: 'agentctl.recoveryDeadline',
    environment: 'KANDEV_ACP_RECOVERY_DEADLINE',
    reader: 'backend',
    default: '30s',
    minMs: 1000,
    maxMs: 300_000,
    accepted: 'a duration from 1s to 5m',
  }),
  recoveryReadTimeoutMs: durationRow({
    key: 'agentctl.recoveryReadTimeout',
    environment: 'KANDEV_ACP_RECOVERY_READ_TIMEOUT',
    reader: 'backend',
    default: '2s',
    minMs: 100,
    maxMs: LONGEST_MS,
    accepted: 'a duration of at least 100ms; timeout × (retries + 1) at most 6s and a fifth of the deadline',
  }),
  recoveryReadRetries: countRow({
    key: 'agentctl.recoveryReadRetries',
    environment: 'KANDEV_ACP_RECOVERY_READ_RETRIES',
    reader: 'backend',
    default: 2,
    min: 0,
    max: 10,
  }),
  unownedPeriodMs: durationRow({
    key: 'agentctl.unownedPeriod',
    environment: 'KANDEV_ACP_UNOWNED_PERIOD',
    reader: 'control-server',
    default: '10m',
    minMs: 0,
    maxMs: LONGEST_MS,
    accepted: 'a duration such as 90s, 10m or 1h',
  }),
  detachedEventLimit: countRow({
    key: 'agentctl.detachedEventLimit',
    environment: 'KANDEV_ACP_DETACHED_EVENT_LIMIT',
    reader: 'control-server',
    default: 100,
    min: 1,
    max: 10_000,
  }),
  idleTimeoutMs: durationRow({
    key: 'agentctl.idleTimeout',
    environment: 'KANDEV_ACP_IDLE_TIMEOUT',
    reader: 'control-server',
    default: '1h',
    minMs: 0,
    maxMs: LONGEST_MS,
    accepted: '0 (off) or a duration such as 30m',
  }),
  agentSurvival: {
    key: 'features.agentSurvival',
    environment: 'KANDEV_FEATURE_AGENT_SURVIVAL',
    reader: 'backend',
    default: false,
    accepted: 'on or off',
    accepts: () => true,
    parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
    format: (value) => (value ? 'on' : 'off'),
  } satisfies SettingRow<boolean>,
} as const;

export type SettingName = keyof typeof SETTINGS;

/** The complete, checked values. */
export interface Settings {
  readonly recoveryDeadlineMs: number;
  readonly recoveryReadTimeoutMs: number;
  readonly recoveryReadRetries: number;
  readonly unownedPeriodMs: number;
  readonly detachedEventLimit: number;
  readonly idleTimeoutMs: number;
  readonly agentSurvival: boolean;
}
