import type { OwnedControlServer } from '@holdfast/executor-contract';
import type { Execution } from '@holdfast/recovery';
import type { ActivePrompt, TerminalEvent } from '@holdfast/turn-ledger';
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
  const { lifecycle } = live;
  const unseen = takeUnseenEnd(services, execution.executionId, promptGeneration);
  const unseenPrompt = unseen && { generation: unseen.promptGeneration, turnId: unseen.controlTurnId };
  lifecycle.resumeAt(promptGeneration, active ?? unseenPrompt ?? null);
  live.agentRunning = agentRunning;
  services.live.set(sessionId, live);
  // An end that nobody saw is told now, as it would have been then; otherwise that the session has come up.
  if (unseen === undefined) lifecycle.bootReady();
  else lifecycle.terminal(unseen);
  // The flow goes on when the hold under which it begins is long over.
  services.sessionGuard.outside(() => {
    live.attach();
  });
  return live;
}

/** The end that nobody saw, if it is that of the latest prompt: one that was overtaken sets nothing in motion. */
function takeUnseenEnd(
  { unseenEnds }: HostServices,
  executionId: string,
  promptGeneration: number,
): TerminalEvent | undefined {
  const unseen = unseenEnds.get(executionId);
  unseenEnds.delete(executionId);
  return unseen?.promptGeneration === promptGeneration ? unseen : undefined;
}
