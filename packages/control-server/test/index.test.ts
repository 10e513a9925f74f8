import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as controlServer from '../src/index.ts';

describe('the package', () => {
  it('exports exactly this', () => {
    expect(Object.keys(controlServer).toSorted()).toEqual([
      'CannotListenError',
      'CannotLogError',
      'EXIT_CODES',
      'HomeNotUsableError',
      'controlServerCommand',
      'startControlServer',
    ]);
  });

  it('names a command that exists', () => {
    const [node, ...rest] = controlServer.controlServerCommand();
    expect(node).toBe(process.execPath);
    expect(existsSync(rest.at(-1) ?? '')).toBe(true);
  });
});
