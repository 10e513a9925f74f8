import type { ExecutorRuntime } from '@holdfast/executor-contract';
import type { AgentProfile } from '../agents/agent-options.ts';
import { HostOptionError } from '../host-errors.ts';
import type { HostServices } from './host-services.ts';

/** The agent of that name, or {@link HostOptionError} that lists the names there are. */
export function agentNamed({ agents }: Pick<HostServices, 'agents'>, name: string): AgentProfile {
  const profile = agents.get(name);
  if (profile !== undefined) return profile;
  throw new HostOptionError('agent', name, `one of the host's agents: ${[...agents.keys()].join(', ')}`);
}

/** The runtime of that kind, or {@link HostOptionError} that lists the kinds there are. */
export function runtimeOfKind({ runtimes }: Pick<HostServices, 'runtimes'>, kind: string): ExecutorRuntime {
  const runtime = runtimes.get(kind);
  if (runtime !== undefined) return runtime;
  throw new HostOptionError(
    'runtime',
    kind,
    `one of the host's runtimes: ${[...runtimes.keys()].join(', ')}`,
  );
}
