import type { NpmPreference } from '@holdfast/control-protocol';

/** What an agent is started with first: npm asks the registry for what it has no copy of, and for nothing else. */
export const FIRST_PREFERENCE: NpmPreference = '--prefer-offline';

/** What its one retry is started with: npm asks the registry whether its copies are still true. */
export const RETRY_PREFERENCE: NpmPreference = '--prefer-online';
