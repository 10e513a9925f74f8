import { setTimeout as wait } from 'node:timers/promises';
import type { PermissionOption } from '@agentclientprotocol/sdk';
import { isObject } from './field-checks.ts';
import type { Answer } from './json-rpc.ts';
import type { StepOf } from './steps.ts';
import type { Turn } from './turn.ts';

const DEFAULT_OPTIONS: readonly PermissionOption[] = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
];

/**
 * Asks the client and waits for its answer, however long it takes and even when the turn is cancelled. In the mode `auto` the
 * first option that allows is taken without asking.
 */
export async function askPermission(turn: Turn, step: StepOf<'permission'>): Promise<string> {
  const { title, options = DEFAULT_OPTIONS, withdrawAfterMs } = step;
  const allowing = options.find((option) => option.kind.startsWith('allow'));
  if (turn.session.choices.mode === 'auto' && allowing !== undefined) return allowing.optionId;
  const { id, answer } = await turn.rpc.request('session/request_permission', {
    sessionId: turn.session.id,
    toolCall: { toolCallId: turn.session.nextToolCallId(), title, status: 'pending' },
    options,
  });
  if (withdrawAfterMs !== undefined) {
    await Promise.race([answer, wait(withdrawAfterMs)]);
    await turn.rpc.notify('$/cancel_request', { requestId: id });
  }
  return describe(await answer);
}

function describe(answer: Answer): string {
  if (answer.kind === 'error') return `error ${String(answer.code)}`;
  const outcome = isObject(answer.result) ? answer.result['outcome'] : undefined;
  if (!isObject(outcome)) return 'unreadable';
  return outcome['outcome'] === 'selected' ? String(outcome['optionId']) : String(outcome['outcome']);
}
