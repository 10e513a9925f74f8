import { describe, expect, it } from '@jest/globals';
import { SessionGuards, type RecoveryEvent } from '../../src/index.ts';
import { sessionsToGuard } from '../../src/guards/session-guards.ts';
import { row } from '../fixtures/rows.ts';

describe('SessionGuards', () => {
  it('refuses a launch while the session is recovered and admits it after the release [SURVIVAL-002.8]', () => {
    const events: RecoveryEvent[] = [];
    const guards = new SessionGuards({ retryAfterMs: 250, onEvent: (event) => events.push(event) });
    expect(guards.acquire('s1')).toBe('acquired');
    expect(guards.acquire('s1')).toBe('observed');
    expect(guards.admitLaunch('s1')).toMatchObject({
      kind: 'refused',
      error: { code: 'session_recovering', retryable: true, retryAfterMs: 250, sessionId: 's1' },
    });
    expect(guards.admitLaunch('s2')).toEqual({ kind: 'admitted' });
    guards.release('s1');
    expect(guards.admitLaunch('s1')).toEqual({ kind: 'admitted' });
    expect(events).toEqual([{ name: 'launch.refused', sessionId: 's1', why: 'session_recovering' }]);
  });

  it('keeps a session with an instance that could not be stopped, for good, and names it [SURVIVAL-002.16]', () => {
    const guards = new SessionGuards({ retryAfterMs: 250 });
    guards.acquire('s1');
    guards.holdForGood('s1', ['i1']);
    guards.holdForGood('s1', ['i2']);
    guards.release('s1');
    expect(guards.admitLaunch('s1')).toMatchObject({
      kind: 'refused',
      error: { code: 'agent_unstoppable', retryable: false, instanceIds: ['i1', 'i2'] },
    });
  });

  it('guards every session of the inventory but passthrough ones; an unreadable mode is guarded [SURVIVAL-005.3]', () => {
    const rows = [
      row('managed'),
      row('unreadable', { sessionMode: null }),
      row('passthrough', { sessionMode: 'passthrough' }),
    ];
    expect([...sessionsToGuard(rows)]).toEqual(['managed', 'unreadable']);
  });
});
