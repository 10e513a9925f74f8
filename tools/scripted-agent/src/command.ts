import { fileURLToPath } from 'node:url';

/** The command that starts the scripted agent: this Node and the path of its program. It needs no flags. */
export function scriptedAgentCommand(): string[] {
  return [process.execPath, fileURLToPath(new URL('agent.ts', import.meta.url))];
}
