import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSurroundings } from './real-agent.ts';

/** The variables that give any agent homes of its own, and the model endpoint for its proxy. The homes are made. */
export async function agentEnvironment({
  folder,
  model,
}: Pick<AgentSurroundings, 'folder' | 'model'>): Promise<Record<string, string>> {
  const homes = {
    HOME: join(folder, 'home'),
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_DATA_HOME: join(folder, 'data'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_STATE_HOME: join(folder, 'state'),
  };
  for (const home of Object.values(homes)) await mkdir(home, { recursive: true });
  return { ...homes, HTTP_PROXY: model.origin, HTTPS_PROXY: model.origin, NO_PROXY: '127.0.0.1' };
}
