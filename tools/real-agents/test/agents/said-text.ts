import { z } from 'zod';

const MessageChunk = z.object({
  sessionUpdate: z.literal('agent_message_chunk'),
  content: z.object({ text: z.string() }),
});

/** The text that an agent said in these updates. */
export function saidText(updates: readonly unknown[]): string {
  return updates.map((update) => MessageChunk.safeParse(update).data?.content.text ?? '').join('');
}
