import { describe, expect, it } from '@jest/globals';
import { meaningOf, tellsOfConversation, toolCallPiece } from '../../src/agent/update-meaning.ts';

describe('what a session update means', () => {
  it.each([
    ['agent_message_chunk', { messageId: 'm1' }, 'messageId m1'],
    ['agent_thought_chunk', { messageId: 'm1' }, 'messageId m1'],
    ['user_message_chunk', {}, null],
    ['tool_call', { toolCallId: 'c1' }, 'toolCallId c1'],
    ['tool_call_update', { toolCallId: 'c1' }, 'toolCallId c1'],
    ['tool_call_update', { toolCallId: 'c'.repeat(257) }, null],
    ['plan', { planId: 'p' }, null],
    ['compaction_update', { compactionId: 'k' }, 'compactionId k'],
    ['state_update', { state: 'running' }, null],
    ['state_update', { state: 'requires_action' }, null],
  ])('%s with %j is work', (sessionUpdate, facts, piece) => {
    expect(meaningOf({ sessionUpdate, ...facts })).toEqual({ kind: 'work', piece });
  });

  it.each([
    { sessionUpdate: 'available_commands_update' },
    { sessionUpdate: 'current_mode_update' },
    { sessionUpdate: 'config_option_update' },
    { sessionUpdate: 'session_info_update' },
    { sessionUpdate: 'usage_update' },
    { sessionUpdate: 'state_update', state: 'dreaming' },
    { sessionUpdate: 'subagent_update' },
    { sessionUpdate: 'from_the_future', toolCallId: 'c1' },
    { sessionUpdate: 'constructor' },
    { sessionUpdate: 7 },
    {},
  ])('%j is a fact about the session', (update) => {
    expect(meaningOf(update)).toEqual({ kind: 'fact' });
  });

  it.each([
    [{ stopReason: 'end_turn' }, { kind: 'completed', stopReason: 'end_turn' }],
    [{ stopReason: 'cancelled' }, { kind: 'cancelled', stopReason: 'cancelled' }],
    [{ stopReason: 'refusal' }, { kind: 'refused', stopReason: 'refusal' }],
    [{}, { kind: 'completed', stopReason: 'idle' }],
    [{ stopReason: null }, { kind: 'completed', stopReason: 'idle' }],
    [
      { stopReason: 'error', error: { code: 7, message: 'out of luck' } },
      { kind: 'failed', stopReason: 'error', error: { code: '7', message: 'out of luck' } },
    ],
    [
      { stopReason: 'error' },
      { kind: 'failed', stopReason: 'error', error: { code: '0', message: 'no message' } },
    ],
  ])('idle with %j is the end of the work', (facts, outcome) => {
    expect(meaningOf({ sessionUpdate: 'state_update', state: 'idle', ...facts })).toEqual({
      kind: 'idle',
      outcome,
    });
  });

  it.each(
    `user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update plan plan_update plan_removed
    compaction_update compaction_summary_chunk subagent_update session_message session_message_chunk`.split(
      /\s+/,
    ),
  )('%s tells of the conversation', (sessionUpdate) => {
    expect(tellsOfConversation({ sessionUpdate })).toBe(true);
  });

  it.each([
    'available_commands_update',
    'current_mode_update',
    'config_option_update',
    'session_info_update',
    'usage_update',
    'notice',
    'state_update',
    'from_the_future',
    'constructor',
    7,
    null,
    undefined,
  ])('%s tells how things are now', (sessionUpdate) => {
    expect(tellsOfConversation({ sessionUpdate, state: 'running' })).toBe(false);
  });

  it('knows the tool call that a permission request is about', () => {
    expect(toolCallPiece({ toolCallId: 'c1', title: 'x' })).toBe('toolCallId c1');
    expect(toolCallPiece({ title: 'x' })).toBeNull();
  });
});
