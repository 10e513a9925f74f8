import { Prompt, type JsonObject } from '@holdfast/control-protocol';
import { NAME, OBJECT, SIGNAL, assertGiven, assertIfGiven } from '../check-given.ts';
import { HostOptionError } from '../host-errors.ts';
import type { PendingPrompt } from './pending-prompts.ts';

/** Options of a prompt that may have to wait for another. */
export interface PromptNextOptions {
  /** The host's own name for this attempt; used when the prompt has to start an agent. */
  readonly runId?: string;
  readonly signal?: AbortSignal;
}

/** A prompt as it is given, complete. */
export interface CheckedPrompt extends Omit<PendingPrompt, 'signal'> {
  readonly signal: AbortSignal | undefined;
}

/** Checks a prompt before anything is cancelled, started or put in line for it; throws {@link HostOptionError}. */
export function checkPrompt(
  content: string | readonly JsonObject[],
  options: PromptNextOptions,
): CheckedPrompt {
  const given: unknown = options;
  assertGiven('options', given, OBJECT);
  const { runId = null, signal } = options;
  if (runId !== null) assertGiven('runId', runId, NAME);
  assertIfGiven('signal', signal, SIGNAL);
  return {
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : checkContent(content),
    runId,
    signal,
  };
}

/** ACP content blocks, at least one; what an agent makes of their types is its own. */
function checkContent(content: unknown): readonly JsonObject[] {
  const checked = Prompt.shape.content.safeParse(content);
  if (checked.success) return checked.data;
  // It may be long, and is the user's own: the place says enough.
  const [place = ''] = checked.error.issues.map(({ path }) => path.join('.'));
  const given = Array.isArray(content) ? `${String(content.length)} blocks` : typeof content;
  throw new HostOptionError(
    place === '' ? 'content' : `content.${place}`,
    given,
    'a text, or a list of at least one ACP content block with a "type"',
  );
}
