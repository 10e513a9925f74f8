import {
  PermissionOption,
  type CoveredEvent,
  type ExcludedEvent,
  type JsonObject,
  type PermissionAnswer,
  type PermissionRequest,
  type StartedAgent,
  type TurnOutcome,
} from '@holdfast/control-protocol';
import { isJsonObject, type RpcAnswer } from './acp-message.ts';
import { readConfigOptions } from './session-choices.ts';

const KIND_OF_STOP: ReadonlyMap<string, TurnOutcome['kind']> = new Map([
  ['cancelled', 'cancelled'],
  ['refusal', 'refused'],
]);

// Outcomes are kept until they are acknowledged, 32 of them, and told in one answer; session ids with every enumeration.
const LONGEST_STOP_REASON = 2000;
const LARGEST_USAGE = 64 * 1024;
const LONGEST_SESSION_ID = 4096;

/**
 * The outcome of a turn from the answer to its prompt. A stop reason that is not known means the turn completed; one that is very
 * long is cut, and usage that is very large is left out.
 */
export function outcomeOf(answer: RpcAnswer): TurnOutcome {
  if (answer.kind === 'error') {
    const { code, message } = answer.error;
    return { kind: 'failed', stopReason: 'error', error: { code: String(code), message } };
  }
  const result = isJsonObject(answer.result) ? answer.result : {};
  const { stopReason, usage } = result;
  if (typeof stopReason !== 'string') {
    const message = 'The agent answered the prompt without a stop reason.';
    return { kind: 'failed', stopReason: 'error', error: { code: 'agent_protocol_error', message } };
  }
  const kind = KIND_OF_STOP.get(stopReason) ?? 'completed';
  const hasUsage = isJsonObject(usage) && JSON.stringify(usage).length <= LARGEST_USAGE;
  return { kind, stopReason: stopReason.slice(0, LONGEST_STOP_REASON), ...(hasUsage ? { usage } : {}) };
}

/** The events of one session update: the update itself, untouched, and what it says about context and options. */
export function updateEvents(update: JsonObject): CoveredEvent[] {
  const events: CoveredEvent[] = [{ type: 'session_update', update }];
  const { sessionUpdate, size, used } = update;
  if (sessionUpdate === 'usage_update' && isCount(size) && isCount(used)) {
    events.push({ type: 'context_window', size, used });
  }
  const options =
    sessionUpdate === 'config_option_update' ? readConfigOptions(update['configOptions']) : null;
  if (options !== null) events.push({ type: 'session_config', options });
  return events;
}

/** What an agent asks in a permission request, or undefined when it cannot be understood. */
export function readPermission(
  params: unknown,
): Pick<PermissionRequest, 'toolCall' | 'options' | '_meta'> | undefined {
  if (!isJsonObject(params) || !isJsonObject(params['toolCall'])) return undefined;
  const { toolCall, _meta } = params;
  const options = PermissionOption.array().safeParse(params['options']);
  if (!options.success) return undefined;
  return { toolCall, options: options.data, ...(isJsonObject(_meta) ? { _meta } : {}) };
}

/** The answer to a permission request as the agent expects it. */
export function permissionResult(answer: PermissionAnswer): JsonObject {
  return 'optionId' in answer
    ? { outcome: { outcome: 'selected', optionId: answer.optionId } }
    : { outcome: { outcome: 'cancelled' } };
}

/** Who an agent says it is, and the ids of its ways to authenticate; undefined when its answer to `initialize` is none. */
export function readAgentInfo(
  result: unknown,
): { readonly agent: StartedAgent['agent']; readonly authMethodIds: readonly string[] } | undefined {
  if (!isJsonObject(result)) return undefined;
  const { protocolVersion, agentInfo, agentCapabilities, authMethods } = result;
  if (typeof protocolVersion !== 'number' || !Number.isSafeInteger(protocolVersion)) return undefined;
  const info = isJsonObject(agentInfo) ? agentInfo : {};
  return {
    agent: {
      name: textOrNull(info['name']),
      version: textOrNull(info['version']),
      protocolVersion,
      capabilities: isJsonObject(agentCapabilities) ? agentCapabilities : {},
    },
    authMethodIds: (Array.isArray(authMethods) ? authMethods : [])
      .map((method: unknown) => (isJsonObject(method) ? method['id'] : undefined))
      .filter((id) => typeof id === 'string'),
  };
}

/** How an agent goes on with a conversation: `resume` does not tell its history again, `load` does; null when it cannot. */
export function continuationOf(capabilities: JsonObject): 'resume' | 'load' | null {
  const { sessionCapabilities, loadSession } = capabilities;
  if (isJsonObject(sessionCapabilities) && isJsonObject(sessionCapabilities['resume'])) return 'resume';
  return loadSession === true ? 'load' : null;
}

/** What the answer to `session/new` or `session/load` says; a load keeps the id it was asked for. */
export function readSession(
  result: unknown,
  loadedSessionId: string | null,
): StartedAgent['session'] | undefined {
  // Some agents answer a load with nothing at all.
  const session = isJsonObject(result) ? result : loadedSessionId === null ? undefined : {};
  if (session === undefined) return undefined;
  const { sessionId, modes, models, configOptions } = session;
  const providerSessionId = loadedSessionId ?? sessionId;
  if (typeof providerSessionId !== 'string') return undefined;
  if (providerSessionId === '' || providerSessionId.length > LONGEST_SESSION_ID) return undefined;
  return {
    providerSessionId,
    modes: isJsonObject(modes) ? modes : null,
    models: isJsonObject(models) ? models : null,
    configOptions: readConfigOptions(configOptions),
  };
}

/** The event that tells that an MCP server was handed to the agent. */
export function attachmentAttempt(mcpServer: JsonObject): ExcludedEvent {
  const { name, type } = mcpServer;
  return {
    type: 'mcp_attachment_attempt',
    serverName: typeof name === 'string' ? name : '',
    transport: type === 'http' || type === 'sse' ? type : 'stdio',
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
