import { z } from 'zod';

const Part = z.union([
  /** One piece of text. */
  z.strictObject({ say: z.string().min(1) }),
  /** Numbered pieces of text, see {@link chunkTexts}. */
  z.strictObject({
    chunks: z.strictObject({ count: z.int().positive(), everyMs: z.int().nonnegative() }),
  }),
  /** Nothing more until the test opens the gate of that name. */
  z.strictObject({ gate: z.string().min(1) }),
  /** A call of one of the tools that the agent offers. */
  z.strictObject({ tool: z.string().min(1), input: z.record(z.string(), z.unknown()) }),
]);

/** A piece of an answer of the model. */
export type Part = z.infer<typeof Part>;

const ModelScript = z.strictObject({ answers: z.array(z.array(Part).min(1)).min(1) });

/** A prompt holds a script that cannot be followed. */
class ModelScriptError extends Error {
  override readonly name = 'ModelScriptError';
  readonly code = 'bad_model_script';
}

/**
 * The line of a prompt that makes the model give these answers: the first to the prompt, each further one to the results of
 * the tools that the one before called.
 */
export function modelScript(...answers: (readonly Part[])[]): string {
  return `model: ${JSON.stringify({ answers })}`;
}

/** The answers that a prompt asks for; undefined when it asks for none. Throws `ModelScriptError`. */
export function readModelScript(prompt: string): readonly (readonly Part[])[] | undefined {
  const json = /^model: (.*)$/m.exec(prompt)?.[1];
  if (json === undefined) return undefined;
  try {
    return ModelScript.parse(JSON.parse(json)).answers;
  } catch (error) {
    throw new ModelScriptError(`The script of the prompt cannot be followed: ${String(error)}`, {
      cause: error,
    });
  }
}

/** The texts of a part `chunks`: numbered, so that a lost, doubled or displaced one shows. */
export function chunkTexts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `chunk ${String(index + 1)} of ${String(count)}\n`);
}
