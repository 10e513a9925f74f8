import { describe, expect, it } from '@jest/globals';
import * as recovery from '../src/index.ts';

describe('the public surface', () => {
  it('is these names', () => {
    expect(Object.keys(recovery).toSorted()).toEqual([
      'ADOPTION_POINTS',
      'AgentNotGoneError',
      'AgentUnstoppableError',
      'BootstrapError',
      'EXECUTION_SOURCES',
      'OUTCOME_EFFECTS',
      'OwnershipLostError',
      'RUN_ID_VARIABLE',
      'RecoveryDeadlineError',
      'RecoveryReport',
      'SecretStoreUnsafeError',
      'SecretUnavailableError',
      'ServerEndedError',
      'ServerNotStoppedError',
      'SessionGuards',
      'SessionRecoveringError',
      'classifyLiveness',
      'correlate',
      'createExecution',
      'createFileSecretStore',
      'createOwnership',
      'describeOutcome',
      'judgeRow',
      'planReconciliation',
      'recover',
      'systemClock',
      'takeEnumerations',
    ]);
  });
});
