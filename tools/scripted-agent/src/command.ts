import { fileURLToPath } from 'node:url';

/** The command that starts the scripted agent: this Node and the path of its program. It needs no flags. */
export function scriptedAgentCommand(): string[] {
  return [process.execPath, fileURLToPath(new URL('agent.ts', import.meta.url))];
}

/**
 * The command that starts an agent that only waits, in one shell of about 1 MB: for tests and measurements with hundreds of
 * agents. It opens and loads sessions, and ends every prompt at once.
 */
export function idleAgentCommand(): string[] {
  return ['/bin/sh', fileURLToPath(new URL('idle-agent.sh', import.meta.url))];
}
