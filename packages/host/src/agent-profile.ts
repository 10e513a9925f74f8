import type { JsonObject } from '@holdfast/control-protocol';

/** An agent's options, complete. */
export interface AgentProfile {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly mcpServers: readonly JsonObject[];
  readonly modeId: string | null;
  readonly modelId: string | null;
  readonly authMethodId: string | null;
  readonly approval: 'ask' | 'allow';
}
