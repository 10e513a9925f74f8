import type { RuntimeFactory } from '@holdfast/executor-contract';
import { thisMachine } from './machine.ts';
import { StandaloneRuntime } from './standalone-runtime.ts';

/** How local control servers are started. */
export interface StandaloneOptions {
  /**
   * Given to the control server in addition to what it gets anyway, and so to its agents: {@link PASSED_ON} of the backend's
   * environment, and the server's settings.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long a new control server may take until it listens; 30 s unless given. */
  readonly readyTimeoutMs?: number;
}

const READY_TIMEOUT_MS = 30_000;
/** For systemctl and systemd-run, which answer at once or, with a manager that hangs, never. */
const COMMAND_LIMIT_MS = 5000;

/** The runtime for local processes: one control server for the installation, reached on loopback. */
export function standalone(options: StandaloneOptions = {}): RuntimeFactory {
  const { environment = {}, readyTimeoutMs = READY_TIMEOUT_MS } = options;
  return {
    kind: 'standalone',
    create: (context) =>
      new StandaloneRuntime(
        context,
        { environment, readyTimeoutMs },
        thisMachine({ commandLimitMs: COMMAND_LIMIT_MS }),
      ),
  };
}
