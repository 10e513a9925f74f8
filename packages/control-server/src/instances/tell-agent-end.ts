import type { Journal } from '../journal/journal.ts';
import { publishUnlessStopped } from '../journal/publish-unless-stopped.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Turns } from '../turns/turns.ts';
import type { EndedAgent } from './agent-slot.ts';
import { exitOutcome } from './exit-outcome.ts';

/**
 * Tells that an agent has ended: why the server ended it, what became of its turn and its questions, and how it did. Nothing here
 * waits for room: the journal takes events in the order in which they were handed to it.
 */
export function tellAgentEnd(
  parts: { readonly journal: Journal; readonly turns: Turns; readonly permissions: Permissions },
  ended: EndedAgent,
): void {
  const { journal, turns, permissions } = parts;
  const { code, signal, stderr, expected, fault } = ended;
  if (fault !== null) {
    const promptGeneration = turns.active?.promptGeneration ?? 0;
    void publishUnlessStopped(journal, { type: 'agent_error', ...fault, promptGeneration });
  }
  turns.agentEnded(exitOutcome(ended), expected);
  void permissions.cancelAll('agent_exited');
  void publishUnlessStopped(journal, { type: 'agent_exited', code, signal, stderr, expected });
}
