import { describe, expect, it } from '@jest/globals';
import {
  EMPTY_DESK,
  REMEMBERED,
  allowingOption,
  judgeAnswer,
  reduceDesk,
} from '../../src/permissions/permission-desk.ts';

const option = (optionId: string, kind: string) => ({ optionId, name: optionId, kind });
const asked = (requestId: string) => ({
  type: 'asked' as const,
  permission: {
    requestId,
    turnId: null,
    requestedAt: '2026-01-01T00:00:00.000Z',
    toolCall: {},
    options: [option('yes', 'allow_once')],
  },
});

describe('the permission desk', () => {
  it('judges answers by what is open and what was', () => {
    const open = reduceDesk(EMPTY_DESK, asked('r1'));
    expect(judgeAnswer(open, 'r1', { optionId: 'yes' })).toEqual({ kind: 'fits' });
    expect(judgeAnswer(open, 'r1', { cancelled: true })).toEqual({ kind: 'fits' });
    expect(judgeAnswer(open, 'r1', { optionId: 'no' })).toMatchObject({
      code: 'permission_option_not_offered',
    });
    expect(judgeAnswer(open, 'r2', { optionId: 'yes' })).toMatchObject({ code: 'permission_not_found' });
    const closed = reduceDesk(open, { type: 'closed', requestId: 'r1' });
    expect(judgeAnswer(closed, 'r1', { optionId: 'yes' })).toMatchObject({ code: 'permission_stale' });
    expect(reduceDesk(closed, { type: 'closed', requestId: 'r1' })).toBe(closed);
  });

  it('remembers a bounded number of closed requests', () => {
    let desk = EMPTY_DESK;
    for (let n = 0; n <= REMEMBERED; n += 1) {
      desk = reduceDesk(desk, asked(`r${String(n)}`));
      desk = reduceDesk(desk, { type: 'closed', requestId: `r${String(n)}` });
    }
    expect(judgeAnswer(desk, 'r0', { cancelled: true })).toMatchObject({ code: 'permission_not_found' });
    expect(judgeAnswer(desk, 'r1', { cancelled: true })).toMatchObject({ code: 'permission_stale' });
  });

  it('allows by kind, whatever the ids are', () => {
    expect(
      allowingOption([option('a', 'reject_once'), option('b', 'allow_always'), option('c', 'allow_once')])
        ?.optionId,
    ).toBe('b');
    expect(allowingOption([option('allow', 'reject_once')])).toBeUndefined();
  });
});
