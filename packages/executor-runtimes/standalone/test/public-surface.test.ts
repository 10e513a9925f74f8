import { describe, expect, it } from '@jest/globals';
import * as runtime from '../src/index.ts';

describe('the public surface', () => {
  it('is these names', () => {
    expect(Object.keys(runtime).toSorted()).toEqual([
      'NoControlServerError',
      'PASSED_ON',
      'RuntimeClosedError',
      'ServerStartError',
      'standalone',
    ]);
  });
});
