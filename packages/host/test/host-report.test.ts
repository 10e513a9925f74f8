import { describe, expect, it } from '@jest/globals';
import { RecoveryReport } from '@holdfast/recovery';
import { describeHost } from '../src/host-report.ts';

const MINUTE = 60_000;
const recovery = new RecoveryReport({ scopes: [], rows: [], tookMs: 12 });
const settings = { unownedPeriodMs: 10 * MINUTE, idleTimeoutMs: 60 * MINUTE };

describe('the report of a host', () => {
  it('says whether agents can outlive it, and why not [SURVIVAL-005.4]', () => {
    const lineOf = (survival: Parameters<typeof describeHost>[0]['survival']): string | undefined =>
      describeHost({ survival, settings, servers: [], recovery }).split('\n')[0];
    expect(lineOf({ state: 'enabled' })).toBe('survival: enabled');
    expect(lineOf({ state: 'disabled' })).toBe('survival: disabled');
    expect(lineOf({ state: 'unavailable', reason: 'platform_windows' })).toBe(
      'survival: unavailable (platform_windows)',
    );
  });

  it('tells the unowned period in force with what adjusted it, and that of a server that was started with another [OWNERSHIP-003.4]', () => {
    const report = (given: typeof settings, unownedPeriodMs: number): string =>
      describeHost({
        survival: { state: 'enabled' },
        settings: given,
        servers: [{ scope: 'standalone', unownedPeriodMs }],
        recovery,
      });
    expect(report(settings, 10 * MINUTE).split('\n')).toEqual([
      'survival: enabled',
      'standalone: unowned period 10m in force',
      '0 of 0 re-tracked, 12 ms after first contact',
    ]);
    expect(report({ unownedPeriodMs: 10 * MINUTE, idleTimeoutMs: 10 * MINUTE }, 5 * MINUTE)).toContain(
      'standalone: unowned period 5m in force; unowned period 10m is not below the idle timeout 10m: set to half of that, 5m',
    );
    expect(report(settings, 3 * MINUTE)).toContain(
      'standalone: unowned period 3m in force, as its server was started; the settings now come to 10m',
    );
  });
});
