import { randomUUID } from 'node:crypto';
import { endsAll, parseKillMode, type KillMode } from './kill-mode.ts';
import type { CommandResult, Machine } from './machine.ts';
import { inOwnScope, managerEnvironment, type Manager } from './own-scope.ts';
import { serviceUnitOf, type ServiceUnit } from './service-unit.ts';

/** How a detached control server is started so that as little as possible takes it along. */
export interface Placement {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What may take it along all the same; one sentence each. */
  readonly warnings: readonly string[];
}

/** What is to be started, and from where. */
export interface PlaceServerOptions {
  readonly command: readonly string[];
  /** The whole environment that the server is to have. */
  readonly environment: Readonly<Record<string, string>>;
  /** The backend's own environment. */
  readonly backend: Readonly<Record<string, string | undefined>>;
  readonly machine: Machine;
  readonly signal: AbortSignal;
}

type Service = Extract<ServiceUnit, { kind: 'service' }>;

/**
 * Where the backend runs in a service of systemd that ends its processes with itself, the server goes into a scope of its own if
 * systemd-run can make one; if not, it is started as usual and the risk is told. Anywhere else the command stays as it is.
 */
export async function placeServer(options: PlaceServerOptions): Promise<Placement> {
  const { command, environment, backend, machine } = options;
  const { userId } = machine;
  const service = serviceUnitOf({ cgroup: await machine.readCgroup(), environment: backend, userId });
  if (service.kind === 'none') return { command, environment, warnings: [] };
  const killMode = await killModeOf(service, options);
  if (!endsAll(killMode)) return { command, environment, warnings: [] };

  const manager = userId === 0 ? service.manager : 'user';
  const scope = { manager, name: `holdfast-control-server-${randomUUID()}`, environment };
  const probe = await ask(
    manager,
    inOwnScope({ ...scope, name: `${scope.name}-probe`, command: ['true'] }),
    options,
  );
  if (!probe.succeeded) {
    return { command, environment, warnings: [describeRisk(service, killMode, probe.complaint)] };
  }
  return {
    command: inOwnScope({ ...scope, command }),
    environment: managerEnvironment({ manager, server: environment, backend, userId }),
    warnings: manager === 'user' && (await endsWithLastLogin(options)) ? [LINGER_WARNING] : [],
  };
}

async function killModeOf({ unit, manager }: Service, options: PlaceServerOptions): Promise<KillMode> {
  if (unit === null) return 'unknown';
  const show = ['systemctl', `--${manager}`, 'show', '--property=KillMode', '--', unit];
  const { succeeded, stdout } = await ask(manager, show, options);
  return succeeded ? parseKillMode(stdout) : 'unknown';
}

async function endsWithLastLogin(options: PlaceServerOptions): Promise<boolean> {
  const show = ['loginctl', 'show-user', '--property=Linger', '--', String(options.machine.userId)];
  const { stdout } = await ask('user', show, options);
  return /^Linger=no$/m.test(stdout);
}

async function ask(
  manager: Manager,
  command: readonly string[],
  { environment, backend, machine, signal }: PlaceServerOptions,
): Promise<CommandResult> {
  const { userId } = machine;
  return await machine.run(command, {
    environment: managerEnvironment({ manager, server: environment, backend, userId }),
    signal,
  });
}

const LINGER_WARNING =
  'the control server runs under the user manager of systemd, which ends with the last login of this user: run "loginctl enable-linger"';

const LONGEST_COMPLAINT = 200;

function describeRisk({ unit }: Service, killMode: KillMode, complaint: string): string {
  const where = unit ?? 'a systemd unit that cannot be named';
  const mode = killMode === 'unknown' ? 'a KillMode that cannot be told' : `KillMode=${killMode}`;
  const said = complaint.replaceAll(/\s+/g, ' ').slice(0, LONGEST_COMPLAINT);
  return `the backend runs in ${where} with ${mode}: stopping the unit will stop the agents; set KillMode=process or make systemd-run usable (it said: ${said})`;
}
