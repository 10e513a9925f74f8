const KILL_MODES = ['control-group', 'mixed', 'process', 'none'] as const;

/** Which processes of a unit systemd ends with it, as in `systemd.kill(5)`; `unknown` where it could not be asked. */
export type KillMode = (typeof KILL_MODES)[number] | 'unknown';

/** Reads the output of `systemctl show --property=KillMode UNIT`. */
export function parseKillMode(output: string): KillMode {
  const value = /^KillMode=(.*)$/m.exec(output)?.[1];
  return KILL_MODES.find((mode) => mode === value) ?? 'unknown';
}

/** Whether the end of the unit may end every process in it. A doubt counts as yes. */
export function endsAll(killMode: KillMode): boolean {
  return killMode !== 'process' && killMode !== 'none';
}
