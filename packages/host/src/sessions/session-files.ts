import type { DirectoryEntry } from '@holdfast/control-protocol';
import type { CallSignal } from './call-signal.ts';
import type { HostServices } from './host-services.ts';
import { callLive } from './live-error.ts';
import { requireLive } from './require-live.ts';
import { unlessClosed } from './unless-closed.ts';

/**
 * The files of one session's workspace, read where its agent runs. Paths are absolute or relative to the workspace and must lead
 * into it: the control server refuses others with `path_outside_roots`, and what is not there with `file_not_found`. All of
 * it needs a live instance and throws {@link SessionNotLiveError} without one.
 */
export class SessionFiles {
  readonly #services: HostServices;
  readonly #sessionId: string;

  /** Made with its session. */
  constructor(services: HostServices, sessionId: string) {
    this.#services = services;
    this.#sessionId = sessionId;
  }

  /** The entries of a directory by name, 10,000 at most; `truncated` says whether there are more. */
  async list(
    path = '.',
    { signal }: CallSignal = {},
  ): Promise<{ readonly entries: readonly DirectoryEntry[]; readonly truncated: boolean }> {
    const limits = { signal: unlessClosed(this.#services, signal) };
    return await callLive(
      requireLive(this.#services, this.#sessionId),
      async ({ client, execution: { instanceId } }) =>
        await client.call('listFiles', { instanceId, path }, limits),
    );
  }

  /**
   * A slice of a file: from `offset` (0), at most `limit` bytes (1 MiB, up to 8 MiB). Fewer mean that the file ends there.
   */
  async read(
    path: string,
    { signal, ...slice }: CallSignal & { readonly offset?: number; readonly limit?: number } = {},
  ): Promise<Uint8Array> {
    const limits = { signal: unlessClosed(this.#services, signal) };
    return await callLive(
      requireLive(this.#services, this.#sessionId),
      async ({ client, execution: { instanceId } }) =>
        await client.call('readFile', { instanceId, path, ...slice }, limits),
    );
  }
}
