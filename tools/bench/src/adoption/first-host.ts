/** The host that starts the agents: `first-host.ts HOME INSTANCES`. It says `{"ready": true}` and waits to be killed. */
import { openBenchHost } from './bench-host.ts';

// Agents are processes; started all at once they would get in each other's way.
const AT_A_TIME = 4;

const [, , home = '', instances = '1'] = process.argv;
const host = await openBenchHost(home);
const names = Array.from(
  { length: Number(instances) },
  (_, index) => `session-${String(index + 1)}`,
).values();
const create = async (): Promise<void> => {
  for (const sessionId of names) {
    await host.sessions.create({
      sessionId,
      taskId: 'task',
      agent: 'idle',
      runtime: 'standalone',
      workspace: { kind: 'local', path: home },
    });
  }
};
await Promise.all(Array.from({ length: AT_A_TIME }, create));
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
