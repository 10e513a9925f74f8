import type { NpmPreference } from '@holdfast/control-protocol';
import { npmSetting } from './npm-setting.ts';

type Environment = Readonly<Record<string, string>>;

// npm hands what it was told to what it runs. A backend that npx runs has these, and may give them to its agents.
const OTHER_COMMANDS = new Set(['package', 'call', 'workspace', 'workspaces']);

// The last two are npm's older names for the first two.
const PREFERENCES = new Set(['prefer-offline', 'prefer-online', 'cache-min', 'cache-max']);

/** An environment without the settings that make npx run something else than its arguments say, or somewhere else. */
export function withoutOtherCommands(environment: Environment): Record<string, string> {
  return without(environment, OTHER_COMMANDS);
}

/**
 * An environment in which npm prefers what its command says, and the user's own settings do not have the last word: to npm
 * `prefer-offline`, wherever it is set, outdoes a `--prefer-online`.
 */
export function withPreference(environment: Environment, preference: NpmPreference): Record<string, string> {
  const rest = without(environment, PREFERENCES);
  return preference === '--prefer-online' ? { ...rest, npm_config_prefer_offline: 'false' } : rest;
}

function without(environment: Environment, settings: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => {
      const setting = npmSetting(name, value);
      return setting === undefined || !settings.has(setting);
    }),
  );
}
