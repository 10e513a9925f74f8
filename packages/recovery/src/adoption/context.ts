import type { Random } from '../ports/random.ts';
import type { Clock } from '../ports/clock.ts';
import type { OnRecoveryEvent } from '../events/recovery-event.ts';
import type { ReadSettings } from '../reconstruction/bounded-read.ts';
import type { ControlServerRecords } from '../stores/control-server-records.ts';
import type { SecretStore } from '../stores/secret-store.ts';
import type { AdoptionPoint } from './adoption-points.ts';
import type { SpentSecrets } from './spent-secrets.ts';

/** What every step of ownership works with. */
export interface OwnershipContext {
  /** The resolved home directory of the installation. */
  readonly home: string;
  readonly records: ControlServerRecords;
  readonly secrets: SecretStore;
  readonly requiredCapabilities: readonly string[];
  readonly settings: ReadSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly onEvent: OnRecoveryEvent;
  /**
   * Called in each gap between two steps, for tests that end a backend there: it ends the process, or throws. What it throws
   * comes out of the call as it is, and everything that was made of this ownership is to be dropped then.
   */
  readonly crashPoint: (point: AdoptionPoint) => void;
  readonly spent: SpentSecrets;
}

/** The limit of a call that is no read of recovery and brings no limit of its own. */
export const CALL_TIMEOUT_MS = 30_000;

/** How long a server that has agreed to stop may take: its agents get 5 s to end by themselves. */
export const STOP_TIMEOUT_MS = 15_000;
