import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { Execution } from '@holdfast/recovery';
import type { ActivePrompt } from '@holdfast/turn-ledger';
import type { HostServices } from './host-services.ts';
import { LiveExecution } from './live-execution.ts';

/** How an execution stands when it goes live. */
export interface Standing {
  /** The highest prompt generation that was used; 0 for a new execution. */
  readonly promptGeneration: number;
  readonly active: ActivePrompt | null;
  readonly agentRunning: boolean;
}

/** Makes an execution the live one of its session and lets its events flow: the same for a launch and for a re-tracking. */
export function goLive(
  services: HostServices,
  { execution, server }: { readonly execution: Execution; readonly server: OwnedControlServer },
  { promptGeneration, active, agentRunning }: Standing,
): LiveExecution {
  const { sessionId } = execution;
  const live: LiveExecution = new LiveExecution(services, {
    execution,
    server,
    onEnd: () => {
      if (services.live.get(sessionId) === live) services.live.delete(sessionId);
    },
  });
  live.lifecycle.resumeAt(promptGeneration, active);
  live.agentRunning = agentRunning;
  services.live.set(sessionId, live);
  live.attach();
  return live;
}
