import type { PermissionRequest } from '@holdfast/control-protocol';
import type { CallSignal } from './call-signal.ts';
import type { HostServices } from './host-services.ts';
import { callLive, unlessLost } from './live-error.ts';
import { requireLive } from './require-live.ts';
import { unlessClosed } from './unless-closed.ts';

/** An answer to a permission request: one of the offered options, or the word that there will be none. */
export type PermissionDecision = { readonly optionId: string } | { readonly cancelled: true };

/** The permission requests of one session. */
export class SessionPermissions {
  readonly #services: HostServices;
  readonly #sessionId: string;

  constructor(services: HostServices, sessionId: string) {
    this.#services = services;
    this.#sessionId = sessionId;
  }

  /** Those that wait for an answer; none when the session has no live agent. */
  async list({ signal }: CallSignal = {}): Promise<readonly PermissionRequest[]> {
    const live = this.#services.live.get(this.#sessionId);
    if (live === undefined) return [];
    const { client, execution } = live;
    return await unlessLost(live, [], async () => {
      const { instanceId } = execution;
      const limits = { signal: unlessClosed(this.#services, signal) };
      return (await client.call('listPermissions', { instanceId }, limits)).permissions;
    });
  }

  /**
   * Answers one. Throws {@link SessionNotLiveError} and what the control server refuses: `permission_not_found`,
   * `permission_stale`, `permission_option_not_offered`.
   */
  async answer(requestId: string, decision: PermissionDecision, { signal }: CallSignal = {}): Promise<void> {
    const limits = { signal: unlessClosed(this.#services, signal) };
    const live = requireLive(this.#services, this.#sessionId);
    const { instanceId } = live.execution;
    await callLive(
      live,
      async ({ client }) =>
        await client.call('answerPermission', { instanceId, requestId, ...decision }, limits),
    );
  }
}
