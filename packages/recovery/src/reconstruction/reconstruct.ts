import { createExecution, type Execution, type ExecutionValues } from './execution.ts';
import { EXECUTION_SOURCES, type DeclaredSource, type ReconstructionInputs } from './sources.ts';

/** An execution rebuilt, or the first required value that its source says is absent. */
export type ReconstructionResult =
  | { readonly kind: 'reconstructed'; readonly execution: Execution }
  | { readonly kind: 'missing'; readonly field: keyof ExecutionValues };

/** Walks the declared-source table. What could not be read never gets here: that is a failed read, not a missing value. */
export function reconstruct(inputs: ReconstructionInputs): ReconstructionResult {
  const values: Record<string, unknown> = {};
  for (const [field, declared] of sourceRows()) {
    const value = declared.read(inputs);
    if (!declared.mayBeEmpty && isEmpty(value)) return { kind: 'missing', field };
    values[field] = value;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has a row of the right type for every field
  return { kind: 'reconstructed', execution: createExecution(values as unknown as ExecutionValues) };
}

function sourceRows(): Array<[keyof ExecutionValues, DeclaredSource<unknown>]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.entries forgets the names of the keys
  return Object.entries(EXECUTION_SOURCES) as Array<[keyof ExecutionValues, DeclaredSource<unknown>]>;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return Array.isArray(value) && value.length === 0;
}
