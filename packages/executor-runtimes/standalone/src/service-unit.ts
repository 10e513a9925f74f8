/** The service of systemd that a process runs in, if it does. */
export type ServiceUnit =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'service';
      /** Null where a control-group namespace hides it. */
      readonly unit: string | null;
      readonly manager: 'system' | 'user';
    };

/** What tells it. */
export interface ServiceEvidence {
  /** The text of `/proc/self/cgroup`; empty where there is none. */
  readonly cgroup: string;
  /** Of the process itself. systemd gives each service an `INVOCATION_ID`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Null where users have no number. */
  readonly userId: number | null;
}

const NONE: ServiceUnit = { kind: 'none' };
const UNIT_NAME = /^[\w:.\\@-]{1,246}\.(service|scope)$/;
const USER_MANAGER = /^user@\d+\.service$/;

/**
 * Finds the service of systemd that a process belongs to. The innermost unit decides: a scope within a service (a container, a
 * terminal of the user manager) is not taken along when a main process ends, for it has none.
 */
export function serviceUnitOf({ cgroup, environment, userId }: ServiceEvidence): ServiceUnit {
  const paths = systemdPaths(cgroup);
  const path = paths.find((candidate) => candidate !== '/');
  if (path !== undefined) return innermostUnit(path);
  // Only where the group is hidden: elsewhere the variable was handed down, e.g. from a desktop to a terminal in a scope.
  if (paths.length === 0 || environment['INVOCATION_ID'] === undefined) return NONE;
  return { kind: 'service', unit: null, manager: userId === 0 ? 'system' : 'user' };
}

function innermostUnit(path: string): ServiceUnit {
  const parts = path.split('/').map(unescape);
  const index = parts.findLastIndex((part) => UNIT_NAME.test(part));
  const unit = parts[index];
  if (unit === undefined || unit.endsWith('.scope')) return NONE;
  const inUserManager = parts.slice(0, index).some((part) => USER_MANAGER.test(part));
  return { kind: 'service', unit, manager: inUserManager ? 'user' : 'system' };
}

/** The paths that systemd keeps: in the hierarchy of its own name where there is one (v1, hybrid), then in the unified one. */
function systemdPaths(cgroup: string): string[] {
  const lines = cgroup.split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return controllers === undefined || path === undefined ? [] : [{ controllers, path }];
  });
  return ['name=systemd', ''].flatMap((wanted) =>
    lines
      .filter(({ controllers }) => controllers === wanted)
      .map(({ path }) => path.replace(/ \(deleted\)$/, '')),
  );
}

/** systemd puts an underscore before names that could be taken for files of the kernel. */
function unescape(part: string): string {
  return part.replace(/^_/, '');
}
