import { describe, expect, it } from '@jest/globals';
import * as contract from '../src/index.ts';

describe('the contract', () => {
  it('orders the reasons of a refusal by which one is recorded when several apply', () => {
    expect(contract.REFUSAL_REASONS).toEqual([
      'no_answer',
      'identity_mismatch',
      'credential_unavailable',
      'authentication_failure',
      'capability_incompatibility',
      'rotation_failure',
    ]);
  });

  it('is types but for that order', () => {
    expect(Object.keys(contract)).toEqual(['REFUSAL_REASONS']);
  });
});
