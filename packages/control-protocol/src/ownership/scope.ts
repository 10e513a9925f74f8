import { z } from 'zod';

/**
 * What one control server is responsible for, and the key of its record: `standalone`, `ssh:<host key>`,
 * `docker:<container id>` or `kubernetes:<namespace>/<pod uid>`.
 */
export const Scope = z
  .string()
  .max(512)
  .regex(
    /^(standalone|(ssh|docker|kubernetes):[^\s\0]+)$/,
    'must be a control-server scope such as "standalone"',
  );
export type Scope = z.infer<typeof Scope>;
