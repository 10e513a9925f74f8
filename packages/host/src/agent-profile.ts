import type { JsonObject } from '@holdfast/control-protocol';
import type { AgentProfile as RecoveredProfile } from '@holdfast/recovery';

/** An agent's options, complete. */
export interface AgentProfile extends RecoveredProfile {
  readonly environment: Readonly<Record<string, string>>;
  readonly mcpServers: readonly JsonObject[];
  readonly modeId: string | null;
  readonly modelId: string | null;
  readonly authMethodId: string | null;
  readonly approval: 'ask' | 'allow';
  /** In bytes; null for none. */
  readonly memoryLimitBytes: number | null;
}
