import type { CoveredEvent, ExcludedEvent } from '@holdfast/control-protocol';
import type { AskedPermission } from '../permissions/permissions.ts';

/** What an agent says goes here, in wire order: it is not read on until the promise settles. None of them rejects. */
export interface AgentListener {
  readonly publish: (event: CoveredEvent) => Promise<void>;
  readonly publishLossy: (event: ExcludedEvent) => void;
  readonly permissionAsked: (
    asked: Omit<AskedPermission, 'turnId'>,
    onOpened: (requestId: string) => void,
  ) => Promise<void>;
  readonly permissionWithdrawn: (requestId: string) => Promise<void>;
}
