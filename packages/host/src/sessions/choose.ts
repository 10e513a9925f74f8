import { ControlError, SESSION_CHANGE_LIMIT_MS, SessionChoice } from '@holdfast/control-protocol';
import type { SessionRecord } from '@holdfast/turn-ledger';
import { HostOptionError } from '../host-errors.ts';
import { ChoiceRefusedError, ChoiceUnresolvedError, SessionTakenOverError } from './session-errors.ts';
import type { HostServices } from './host-services.ts';
import type { LiveExecution } from './live-execution.ts';
import { assertOurs } from './require-live.ts';

// The control server gives the agent its limit; the answer gets some time to travel.
const CALL_TIMEOUT_MS = SESSION_CHANGE_LIMIT_MS + 10_000;

/**
 * Makes a choice for a session, under its guard: the agent first, if one runs, then the ledger. What the agent does not confirm
 * is not kept. Throws {@link ChoiceRefusedError}, {@link ChoiceUnresolvedError} or `SessionTakenOverError`.
 */
export async function choose(
  services: HostServices,
  { sessionId, choices }: SessionRecord,
  choice: SessionChoice,
): Promise<void> {
  assertOurs(services, sessionId);
  const live = services.live.get(sessionId);
  if (live?.agentRunning === true) await tellAgent(live, choice);
  await services.ledger.sessions.setChoices(sessionId, withChoice(choices, choice));
}

/** The choice as the protocol takes it, or {@link HostOptionError}. */
export function checkChoice(option: string, value: unknown, choice: SessionChoice): SessionChoice {
  const checked = SessionChoice.safeParse(choice);
  if (checked.success) return checked.data;
  const id = 'an id that the agent offers';
  throw new HostOptionError(
    option,
    value,
    choice.kind === 'config_option' ? `${id}, and a text or true or false` : id,
  );
}

/** A choice goes to the end: what was chosen before of the same thing is over, and it may change what others stand for. */
function withChoice(choices: readonly SessionChoice[], choice: SessionChoice): readonly SessionChoice[] {
  return [...choices.filter((other) => subjectOf(other) !== subjectOf(choice)), choice];
}

function subjectOf(choice: SessionChoice): string {
  return choice.kind === 'config_option' ? `config_option ${choice.optionId}` : choice.kind;
}

/** Resolves when the agent has confirmed it, or when it turns out that there is none: then the next start tells it. */
async function tellAgent(
  { client, server, execution: { instanceId, sessionId } }: LiveExecution,
  choice: SessionChoice,
): Promise<void> {
  const limits = { timeoutMs: CALL_TIMEOUT_MS };
  try {
    switch (choice.kind) {
      case 'mode':
        await client.call('setSessionMode', { instanceId, modeId: choice.modeId }, limits);
        return;
      case 'model':
        await client.call('setSessionModel', { instanceId, modelId: choice.modelId }, limits);
        return;
      case 'config_option': {
        const { optionId, value } = choice;
        await client.call('setSessionConfigOption', { instanceId, optionId, value }, limits);
      }
    }
  } catch (error) {
    const code = error instanceof ControlError ? error.code : undefined;
    if (code === 'agent_not_running' || code === 'instance_not_found') return;
    if (code === 'agent_protocol_error') throw new ChoiceRefusedError(sessionId, choice, error);
    if (server.lost.aborted) throw new SessionTakenOverError(sessionId, error);
    throw new ChoiceUnresolvedError(sessionId, choice, error);
  }
}
