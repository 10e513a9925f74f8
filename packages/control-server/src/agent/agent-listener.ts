import type { CoveredEvent, ExcludedEvent } from '@holdfast/control-protocol';
import type { AskedPermission } from '../permissions/permissions.ts';
import type { AgentFiles } from './file-requests.ts';

/** What an agent says goes here, in wire order: it is not read on until the promise settles. None of them rejects. */
export interface AgentListener {
  readonly publish: (event: CoveredEvent) => Promise<void>;
  readonly publishLossy: (event: ExcludedEvent) => void;
  readonly permissionAsked: (
    asked: Omit<AskedPermission, 'turnId'>,
    onOpened: (requestId: string) => void,
  ) => Promise<void>;
  readonly permissionWithdrawn: (requestId: string) => Promise<void>;
  /** What the agent may read and write through us. */
  readonly files: AgentFiles;
}
