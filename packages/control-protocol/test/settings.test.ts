import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  SETTINGS,
  SettingError,
  controlServerEnvironment,
  formatDuration,
  parseDuration,
  resolveSettings,
  unownedPeriodInForce,
} from '../src/index.ts';

describe('durations', () => {
  it.each([
    ['100ms', 100],
    ['2s', 2000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1h30m', 5_400_000],
    ['1h1m1s1ms', 3_661_001],
    ['0', 0],
    ['0s', 0],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '5', '1.5s', '-1s', ' 1s', '1s ', '1d', '30m1h', '1s1s', 'ms', '99999999999999999999h'])(
    'does not read %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('writes what it reads', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 45 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});

describe('the catalogue', () => {
  it('has the names, consumers and defaults that are its public surface [CONTRACT-15]', () => {
    const rows = Object.values(SETTINGS).map(({ key, environment, reader, format, default: value }) => [
      key,
      environment,
      reader,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a row formats the values of its own kind
      (format as (value: number | boolean) => string)(value),
    ]);
    expect(rows).toEqual([
      ['agentctl.recoveryDeadline', 'KANDEV_ACP_RECOVERY_DEADLINE', 'backend', '30s'],
      ['agentctl.recoveryReadTimeout', 'KANDEV_ACP_RECOVERY_READ_TIMEOUT', 'backend', '2s'],
      ['agentctl.recoveryReadRetries', 'KANDEV_ACP_RECOVERY_READ_RETRIES', 'backend', '2'],
      ['agentctl.unownedPeriod', 'KANDEV_ACP_UNOWNED_PERIOD', 'control-server', '10m'],
      ['agentctl.detachedEventLimit', 'KANDEV_ACP_DETACHED_EVENT_LIMIT', 'control-server', '100'],
      ['agentctl.idleTimeout', 'KANDEV_ACP_IDLE_TIMEOUT', 'control-server', '1h'],
      ['features.agentSurvival', 'KANDEV_FEATURE_AGENT_SURVIVAL', 'backend', 'off'],
    ]);
  });
});

describe('resolveSettings', () => {
  it('gives the defaults of the catalogue', () => {
    expect(resolveSettings({})).toEqual({
      recoveryDeadlineMs: 30_000,
      recoveryReadTimeoutMs: 2000,
      recoveryReadRetries: 2,
      unownedPeriodMs: 600_000,
      detachedEventLimit: 100,
      idleTimeoutMs: 3_600_000,
      agentSurvival: false,
    });
  });

  it('prefers an option to the environment, and that to the default', () => {
    const environment = { KANDEV_ACP_UNOWNED_PERIOD: '2m', KANDEV_ACP_DETACHED_EVENT_LIMIT: '7' };
    const settings = resolveSettings({ environment, options: { unownedPeriodMs: '3m' } });
    expect(settings).toMatchObject({ unownedPeriodMs: 180_000, detachedEventLimit: 7 });
  });

  it.each([
    ['KANDEV_ACP_DETACHED_EVENT_LIMIT', '0', 'a whole number from 1 to 10000'],
    ['KANDEV_ACP_DETACHED_EVENT_LIMIT', '10001', 'a whole number from 1 to 10000'],
    ['KANDEV_ACP_DETACHED_EVENT_LIMIT', '1e3', 'a whole number from 1 to 10000'],
    ['KANDEV_ACP_RECOVERY_DEADLINE', '999ms', 'a duration from 1s to 5m'],
    ['KANDEV_ACP_RECOVERY_DEADLINE', '6m', 'a duration from 1s to 5m'],
    ['KANDEV_ACP_RECOVERY_READ_TIMEOUT', '99ms', 'a duration of at least 100ms'],
    ['KANDEV_ACP_RECOVERY_READ_RETRIES', '11', 'a whole number from 0 to 10'],
    ['KANDEV_ACP_UNOWNED_PERIOD', 'soon', 'a duration'],
    ['KANDEV_FEATURE_AGENT_SURVIVAL', 'yes', 'on or off'],
  ])('refuses %s=%s and says what is accepted [CONTRACT-15]', (name, value, accepted) => {
    const resolve = (): unknown => resolveSettings({ environment: { [name]: value } });
    expect(resolve).toThrow(SettingError);
    expect(resolve).toThrow(`"${value}" (from environment ${name}) is not accepted; it must be ${accepted}`);
  });

  it('refuses a value of the wrong kind given as an option', () => {
    expect(() => resolveSettings({ options: { detachedEventLimit: 1.5 } })).toThrow(
      'agentctl.detachedEventLimit = "1.5" (from option detachedEventLimit) is not accepted',
    );
  });

  it('refuses a read budget above 6 s or a fifth of the deadline', () => {
    expect(() => resolveSettings({ options: { recoveryReadTimeoutMs: 2001 } })).toThrow('at most 6s');
    expect(() => resolveSettings({ options: { recoveryDeadlineMs: 10_000 } })).toThrow('at most 2s');
    expect(
      resolveSettings({
        options: { recoveryDeadlineMs: 10_000, recoveryReadTimeoutMs: 1000, recoveryReadRetries: 1 },
      }),
    ).toMatchObject({ recoveryReadRetries: 1 });
  });

  it('passes the control server’s settings on as its environment, and they come back the same', () => {
    const settings = resolveSettings({
      options: { unownedPeriodMs: 90_000, detachedEventLimit: 5, idleTimeoutMs: 0 },
    });
    const passed = resolveSettings({ environment: controlServerEnvironment(settings) });
    expect(passed).toEqual(settings);
    const names = Object.values(SETTINGS).filter((row) => row.reader === 'control-server');
    expect(Object.keys(controlServerEnvironment(settings)).toSorted()).toEqual(
      names.map((row) => row.environment).toSorted(),
    );
  });
});

describe('the unowned period in force', () => {
  it.each([
    ['stands when below the idle timeout', 600_000, 3_600_000, 600_000, 0],
    ['is half the idle timeout when not below it', 3_600_000, 3_600_000, 1_800_000, 1],
    ['stands without a reaper', 7_200_000, 0, 7_200_000, 0],
    ['is at least a minute', 1000, 3_600_000, 60_000, 1],
    ['is at least a minute even above the idle timeout', 600_000, 30_000, 60_000, 2],
  ])('%s [OWNERSHIP-003.4, OWNERSHIP-003.6, OWNERSHIP-003.7]', (_, configured, idle, periodMs, adjusted) => {
    const inForce = unownedPeriodInForce(configured, idle);
    expect(inForce.periodMs).toBe(periodMs);
    expect(inForce.adjustments).toHaveLength(adjusted);
  });

  it('says when the floor breaks the order with the idle timeout', () => {
    expect(unownedPeriodInForce(600_000, 30_000).adjustments[1]).toContain('breaks the order');
  });
});
