import { describe, expect, it } from '@jest/globals';
import { endsAll, parseKillMode } from '../src/kill-mode.ts';

describe('parseKillMode', () => {
  it.each(['control-group', 'mixed', 'process', 'none'])('reads %s', (mode) => {
    expect(parseKillMode(`KillMode=${mode}\n`)).toBe(mode);
    expect(parseKillMode(`Id=myapp.service\nKillMode=${mode}\n`)).toBe(mode);
  });

  it.each(['', 'KillMode=\n', 'KillMode=other\n', 'SendKillMode=process\n', 'process\n'])(
    'takes %j for one that cannot be told',
    (output) => {
      expect(parseKillMode(output)).toBe('unknown');
    },
  );
});

describe('endsAll', () => {
  it('spares the other processes of a unit in two modes only', () => {
    const modes = ['control-group', 'mixed', 'process', 'none', 'unknown'] as const;
    expect(modes.filter((mode) => !endsAll(mode))).toEqual(['process', 'none']);
  });
});
