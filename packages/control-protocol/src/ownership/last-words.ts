import { z } from 'zod';
import { Id } from '../identifiers/id.ts';

/** The message of the last line that a server writes to its log when it stops in order. */
export const LAST_WORDS = 'the server has stopped';

/**
 * That line. A later backend, which finds that nothing answers, reads there why: the owner asked (`shutdown`), nobody owned the
 * server (`unowned`), or its own process was told to end (`stopped`).
 */
export const LastWords = z.object({
  msg: z.literal(LAST_WORDS),
  serverId: Id,
  why: z.enum(['shutdown', 'unowned', 'stopped']),
});
