import type { Conversation } from './conversation.ts';
import { readModelScript, type Part } from './model-script.ts';

/** What the endpoint does with a call. */
export type Choice =
  | {
      readonly kind: 'scripted';
      /** Which answer of its script, from 0. */
      readonly number: number;
      readonly parts: readonly Part[];
    }
  /** The agent asks on its own account: for a title, a summary. */
  | { readonly kind: 'side'; readonly parts: readonly Part[] }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * The answer to a call. The call itself tells it, so the endpoint remembers nothing: the newest script among the user's
 * messages, and in it the answer after those that were given since. Throws `ModelScriptError`.
 */
export function chooseAnswer({ messages, tools }: Conversation): Choice {
  // Agents offer their tools in every call of a turn, and none when they ask on their own account.
  if (tools.length === 0) return { kind: 'side', parts: [{ say: 'A side answer' }] };
  const scripts = messages.map((message) =>
    message.speaker === 'user' ? readModelScript(message.text) : undefined,
  );
  const prompt = scripts.findLastIndex((script) => script !== undefined);
  const answers = scripts[prompt];
  if (answers === undefined) return { kind: 'refused', why: 'no message of the user holds a script' };
  const number = messages.slice(prompt + 1).filter(({ speaker }) => speaker === 'assistant').length;
  const parts = answers[number];
  if (parts === undefined) {
    return { kind: 'refused', why: `all ${String(answers.length)} answers of the script were given` };
  }
  const missing = parts.flatMap((part) => ('tool' in part && !tools.includes(part.tool) ? part.tool : []));
  if (missing.length > 0) return { kind: 'refused', why: `the agent does not offer ${missing.join(', ')}` };
  return { kind: 'scripted', number, parts };
}
