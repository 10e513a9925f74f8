import type { OperationName, ParamsOf, QueryOf, RequestOf, ResponseOf } from '@holdfast/control-protocol';
import type { Log } from '../diagnostics/log.ts';
import type { RequestCounts } from '../diagnostics/request-counts.ts';
import type { InstanceTable } from '../instances/instance-table.ts';
import type { OwnershipStep } from '../ownership/ownership-step.ts';
import type { Ownership } from '../ownership/ownership.ts';

/** What handlers work on. */
export interface ServerParts {
  readonly serverId: string;
  /** What the identity advertises. */
  readonly capabilities: readonly string[];
  /** The unowned period in force, in milliseconds. */
  readonly unownedPeriodMs: number;
  readonly home: string;
  readonly logFile: string;
  readonly startedAt: string;
  readonly log: Log;
  readonly ownership: Ownership;
  /** Says where a change of ownership is; rejects with `ConnectionCutError` when it is not to be answered. */
  readonly atStep: (step: OwnershipStep) => Promise<void>;
  readonly instances: InstanceTable;
  readonly requests: RequestCounts;
  /** The audiences to which this server proves ownership. */
  readonly audiences: () => ReadonlySet<string>;
}

/** One call of an operation, everything in it checked. */
export interface Call<Name extends OperationName> {
  readonly params: ParamsOf<Name>;
  readonly query: QueryOf<Name>;
  readonly body: RequestOf<Name>;
  /** The credential it came with; empty for the open operations. */
  readonly credential: string;
}

/** What carries out an operation. It answers the body of a success and throws `ControlError` for everything else. */
export type Handler<Name extends OperationName> = (
  parts: ServerParts,
  call: Call<Name>,
) => ResponseOf<Name> | Promise<ResponseOf<Name>>;

/** The handlers of some of the operations. */
export type Handlers<Names extends OperationName> = { readonly [Name in Names]: Handler<Name> };
