import type { JsonObject, TurnOutcome } from '@holdfast/control-protocol';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { SessionUpdate as UnstableSessionUpdate } from '@agentclientprotocol/sdk/unstable';
import { outcomeOf } from './acp-mapping.ts';
import { isJsonObject } from './acp-message.ts';

/** What a session update says about who is at work. */
export type UpdateMeaning =
  /** The agent works; `piece` names the message, tool call or compaction that it works on, where the update does. */
  | { readonly kind: 'work'; readonly piece: string | null }
  /** The agent says that it has nothing left to do. */
  | { readonly kind: 'idle'; readonly outcome: TurnOutcome }
  /** Something about the session. */
  | { readonly kind: 'fact' };

type KnownUpdate = SessionUpdate['sessionUpdate'] | UnstableSessionUpdate['sessionUpdate'] | 'state_update';

/**
 * For each kind of update: the field that names its piece of work, `work` without one, or that it is none; `others` is what is said
 * in the conversation by others than this agent.
 */
const MEANINGS = {
  // Words that the agent puts into the user's mouth, such as those of its own wake-up, begin its work.
  user_message_chunk: { workOn: 'messageId' },
  agent_message_chunk: { workOn: 'messageId' },
  agent_thought_chunk: { workOn: 'messageId' },
  tool_call: { workOn: 'toolCallId' },
  tool_call_update: { workOn: 'toolCallId' },
  compaction_update: { workOn: 'compactionId' },
  compaction_summary_chunk: { workOn: 'compactionId' },
  plan: 'work',
  plan_update: 'work',
  plan_removed: 'work',
  // Of version 2 of the protocol, where an agent has no other way to say that it works on its own and has ended.
  state_update: 'state',
  available_commands_update: 'fact',
  current_mode_update: 'fact',
  config_option_update: 'fact',
  session_info_update: 'fact',
  usage_update: 'fact',
  notice: 'fact',
  subagent_update: 'others',
  session_message: 'others',
  session_message_chunk: 'others',
} as const satisfies Record<KnownUpdate, 'work' | 'state' | 'fact' | 'others' | { readonly workOn: string }>;

const BY_NAME: ReadonlyMap<unknown, (typeof MEANINGS)[KnownUpdate]> = new Map(Object.entries(MEANINGS));

// Longer names are those of nobody who means well; they are not kept.
const LONGEST_NAME = 256;

/** What an update means. One of a kind that is not known is taken for a fact: it says nothing of work. */
export function meaningOf(update: JsonObject): UpdateMeaning {
  const meaning = BY_NAME.get(update['sessionUpdate']) ?? 'fact';
  if (meaning === 'fact' || meaning === 'others') return { kind: 'fact' };
  if (meaning === 'work') return { kind: 'work', piece: null };
  if (meaning === 'state') return stateMeaning(update);
  return { kind: 'work', piece: pieceOf(update, meaning.workOn) };
}

/** Whether an update tells of the conversation, so that it is told again when that is loaded; all others tell how things are now. */
export function tellsOfConversation(update: JsonObject): boolean {
  const meaning = BY_NAME.get(update['sessionUpdate']) ?? 'fact';
  return meaning !== 'fact' && meaning !== 'state';
}

/** The piece of work that a tool call is, such as the one of a permission request. */
export function toolCallPiece(toolCall: JsonObject): string | null {
  return pieceOf(toolCall, 'toolCallId');
}

function pieceOf(update: JsonObject, field: string): string | null {
  const name = update[field];
  return typeof name === 'string' && name.length <= LONGEST_NAME ? `${field} ${name}` : null;
}

function stateMeaning({ state, stopReason, error }: JsonObject): UpdateMeaning {
  if (state === 'running' || state === 'requires_action') return { kind: 'work', piece: null };
  if (state !== 'idle') return { kind: 'fact' };
  if (stopReason === 'error') {
    const { code, message } = isJsonObject(error) ? error : {};
    const answer = { code: typeof code === 'number' ? code : 0, message: textOr(message, 'no message') };
    return { kind: 'idle', outcome: outcomeOf({ kind: 'error', error: answer }) };
  }
  const result = { stopReason: textOr(stopReason, 'idle') };
  return { kind: 'idle', outcome: outcomeOf({ kind: 'result', result }) };
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value.slice(0, 2000) : otherwise;
}
