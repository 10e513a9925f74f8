import { afterEach, describe, expect, it } from '@jest/globals';
import prepareRun from '../../../jest.global-setup.ts';

const VARIABLE = 'NODE_EXTRA_CA_CERTS';
const before = process.env[VARIABLE];

describe('a run of tests', () => {
  afterEach(() => {
    if (before === undefined) delete process.env[VARIABLE];
    else process.env[VARIABLE] = before;
  });

  it('has no extra certificates for its programs to read, which may complain of them on stderr as they exit', () => {
    process.env[VARIABLE] = '/etc/ssl/certs/ca-certificates.crt';
    prepareRun({});
    expect(process.env[VARIABLE]).toBeUndefined();
  });
});
