/** Whether agents can outlive the backend, and if not, why (SURVIVAL-005.1, .2, .4). */
export type SurvivalCapability =
  | { readonly state: 'enabled' }
  | { readonly state: 'disabled' }
  | { readonly state: 'unavailable'; readonly reason: 'platform_windows' };

/**
 * What the platform and the switch come to. On a platform without survivable shutdown the answer is `unavailable`,
 * whatever the switch says.
 */
export function survivalCapability(platform: NodeJS.Platform, switchedOn: boolean): SurvivalCapability {
  if (platform === 'win32') return { state: 'unavailable', reason: 'platform_windows' };
  return { state: switchedOn ? 'enabled' : 'disabled' };
}
