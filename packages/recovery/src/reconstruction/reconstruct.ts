import { createExecution, type Execution, type ExecutionValues } from './execution.ts';
import { EXECUTION_SOURCES, type ReconstructionInputs } from './sources.ts';

/** What a source can say is not there: a required value, or the session or profile that values would be read from. */
export type MissingInput = keyof ExecutionValues | 'session' | 'profile';

/** An execution rebuilt, or the first input that its source says is absent. */
export type ReconstructionResult =
  | { readonly kind: 'reconstructed'; readonly execution: Execution }
  | { readonly kind: 'missing'; readonly name: MissingInput };

/** Walks the declared-source table. What could not be read never gets here: that is a failed read, not a missing value. */
export function reconstruct(inputs: ReconstructionInputs): ReconstructionResult {
  if (inputs.store === null) return { kind: 'missing', name: 'session' };
  if (inputs.profile === null) return { kind: 'missing', name: 'profile' };
  const values: Record<string, unknown> = {};
  for (const [field, { source, mayBeEmpty, read }] of sourceRows()) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table holds each row to the source that it names
    const value = read(inputs[source] as never);
    if (!mayBeEmpty && isEmpty(value)) return { kind: 'missing', name: field };
    values[field] = value;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has a row of the right type for every field
  return { kind: 'reconstructed', execution: createExecution(values as unknown as ExecutionValues) };
}

interface SourceRow {
  readonly source: keyof ReconstructionInputs;
  readonly mayBeEmpty: boolean;
  readonly read: (from: never) => unknown;
}

function sourceRows(): Array<[keyof ExecutionValues, SourceRow]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.entries forgets the names of the keys
  return Object.entries(EXECUTION_SOURCES) as Array<[keyof ExecutionValues, SourceRow]>;
}

function isEmpty(value: unknown): boolean {
  // A source of another language's making may leave it out.
  if (value === undefined || value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}
