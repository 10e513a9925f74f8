import { ControlError, type SessionChoice } from '@holdfast/control-protocol';
import { AgentGoneError, AgentRequestError } from '../agent/acp-connection.ts';
import { RPC_ERROR } from '../agent/acp-methods.ts';
import { AgentSilentError } from '../agent/await-choice.ts';

const WHAT: { readonly [Kind in SessionChoice['kind']]: string } = {
  mode: 'mode',
  model: 'model',
  config_option: 'configuration option',
};

/** What is answered to a choice that the agent did not confirm; what is no failure of the agent stays what it is. */
export function choiceFailure(error: unknown, choice: SessionChoice): unknown {
  const what = WHAT[choice.kind];
  if (error instanceof AgentRequestError) {
    const { method, rpcError } = error;
    const message =
      rpcError.code === RPC_ERROR.methodNotFound
        ? `The agent does not know ${method}: its ${what} cannot be set.`
        : `The agent refused the ${what}: ${rpcError.message}`;
    return new ControlError('agent_protocol_error', message, { method, agentError: rpcError });
  }
  if (error instanceof AgentSilentError) {
    return new ControlError(
      'agent_timeout',
      `The agent did not confirm the ${what} within ${String(error.limitMs)} ms; whether it is set is not known.`,
    );
  }
  if (error instanceof AgentGoneError) {
    return new ControlError('agent_not_running', `The agent ended before it confirmed the ${what}.`);
  }
  return error;
}
