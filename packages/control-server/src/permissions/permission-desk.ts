import type { PermissionAnswer, PermissionOption, PermissionRequest } from '@holdfast/control-protocol';

/** The questions of one instance's agent that wait for an answer, and the ids of the last ones that no longer do. */
export interface PermissionDesk {
  readonly open: readonly PermissionRequest[];
  /** Answered or cancelled, oldest first, the last {@link REMEMBERED} of them. */
  readonly closed: readonly string[];
}

export type PermissionEvent =
  | { readonly type: 'asked'; readonly permission: PermissionRequest }
  | { readonly type: 'closed'; readonly requestId: string };

/** What an answer to a request is worth. */
export type AnswerJudgement =
  | { readonly kind: 'fits' }
  | {
      readonly kind: 'refused';
      readonly code: 'permission_not_found' | 'permission_stale' | 'permission_option_not_offered';
    };

/** How many closed requests are remembered, so that a late answer is told from a wrong one. */
export const REMEMBERED = 256;

export const EMPTY_DESK: PermissionDesk = { open: [], closed: [] };

/** The desk after an event. Closing what is not open changes nothing. */
export function reduceDesk(desk: PermissionDesk, event: PermissionEvent): PermissionDesk {
  switch (event.type) {
    case 'asked':
      return { ...desk, open: [...desk.open, event.permission] };
    case 'closed': {
      const open = desk.open.filter(({ requestId }) => requestId !== event.requestId);
      if (open.length === desk.open.length) return desk;
      return { open, closed: [...desk.closed, event.requestId].slice(-REMEMBERED) };
    }
  }
}

/** Whether an answer fits a request that is open. */
export function judgeAnswer(
  desk: PermissionDesk,
  requestId: string,
  answer: PermissionAnswer,
): AnswerJudgement {
  const asked = desk.open.find((permission) => permission.requestId === requestId);
  if (asked === undefined) {
    const code = desk.closed.includes(requestId) ? 'permission_stale' : 'permission_not_found';
    return { kind: 'refused', code };
  }
  if ('optionId' in answer && !asked.options.some(({ optionId }) => optionId === answer.optionId)) {
    return { kind: 'refused', code: 'permission_option_not_offered' };
  }
  return { kind: 'fits' };
}

/** The option that stands for "yes" where everything is allowed: the first whose kind says allow. */
export function allowingOption(options: readonly PermissionOption[]): PermissionOption | undefined {
  return options.find(({ kind }) => kind.startsWith('allow_'));
}
