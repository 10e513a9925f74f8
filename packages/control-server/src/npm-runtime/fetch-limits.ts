import { npmSetting } from './npm-setting.ts';

/**
 * What npm is told about the registry unless the agent's environment says so itself: one more try, and two minutes for each, so
 * that npm fails with a reason before the time for a start is over. With npm's own values a registry that is down costs more than a
 * minute, and one that hangs a quarter of an hour.
 */
const LIMITS = [
  { 'fetch-retries': '1' },
  { 'fetch-timeout': '120000' },
  // These two go together: npm fails when the lower one is above the upper one.
  { 'fetch-retry-mintimeout': '1000', 'fetch-retry-maxtimeout': '10000' },
] as const;

/** The environment for npm, with the limits in it that are not set there. */
export function withFetchLimits(environment: Readonly<Record<string, string>>): Record<string, string> {
  const given = new Set(Object.entries(environment).map(([name, value]) => npmSetting(name, value)));
  const added = LIMITS.filter((group) => Object.keys(group).every((key) => !given.has(key)));
  return {
    ...environment,
    ...Object.fromEntries(
      added.flatMap((group) =>
        Object.entries(group).map(([key, value]) => [`npm_config_${key.replaceAll('-', '_')}`, value]),
      ),
    ),
  };
}
