import { formatDuration, unownedPeriodInForce, type Settings } from '@holdfast/control-protocol';
import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { RecoveryReport } from '@holdfast/recovery';
import type { SurvivalCapability } from './startup/capability.ts';

/** What a host says of itself. */
export interface HostReportParts {
  readonly survival: SurvivalCapability;
  readonly settings: Pick<Settings, 'unownedPeriodMs' | 'idleTimeoutMs'>;
  /** The control servers it has come to own. */
  readonly servers: ReadonlyArray<Pick<OwnedControlServer, 'scope' | 'unownedPeriodMs'>>;
  readonly recovery: RecoveryReport;
}

/** One line for survival, one for the unowned period of each server with what adjusted it, then those of recovery. */
export function describeHost({ survival, settings, servers, recovery }: HostReportParts): string {
  const expected = unownedPeriodInForce(settings.unownedPeriodMs, settings.idleTimeoutMs);
  return [
    `survival: ${describeSurvival(survival)}`,
    ...servers.map(({ scope, unownedPeriodMs }) => {
      const inForce = `${scope}: unowned period ${formatDuration(unownedPeriodMs)} in force`;
      return unownedPeriodMs === expected.periodMs
        ? [inForce, ...expected.adjustments].join('; ')
        : `${inForce}, as its server was started; the settings now come to ${formatDuration(expected.periodMs)}`;
    }),
    String(recovery),
  ].join('\n');
}

/** `enabled`, `disabled`, or `unavailable` with its reason. */
function describeSurvival(survival: SurvivalCapability): string {
  return survival.state === 'unavailable' ? `unavailable (${survival.reason})` : survival.state;
}
