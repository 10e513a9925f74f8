import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { EXECUTION_SOURCES, type Execution, type ReconstructionInputs } from '../../src/index.ts';
import { reconstruct } from '../../src/reconstruction/reconstruct.ts';
import { found, row } from '../fixtures/rows.ts';

function inputs(given: Partial<ReconstructionInputs> = {}): ReconstructionInputs {
  return {
    row: row('s1', { metadata: { colour: 'green' } }),
    enumerated: found('s1'),
    instance: {
      providerSessionId: 'provider-1',
      workspaceSourceRoots: ['/workspace'],
      environment: { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' },
      lastPromptGeneration: 3,
    },
    profile: { command: ['agent', 'acp'] },
    ...given,
  };
}

function executionOf(given: Partial<ReconstructionInputs> = {}): Execution {
  const result = reconstruct(inputs(given));
  if (result.kind !== 'reconstructed') throw new Error(`${result.field} is missing`);
  return result.execution;
}

describe('reconstruct', () => {
  it('fills every field of an execution, each from its one declared source [CONTRACT-06] [SURVIVAL-002.14]', () => {
    const execution = executionOf();
    expect(Object.getOwnPropertyNames(execution).toSorted()).toEqual(
      Object.keys(EXECUTION_SOURCES).toSorted(),
    );
    expect({ ...execution, environment: execution.environment }).toEqual({
      executionId: 'execution-s1',
      sessionId: 's1',
      taskId: 'task-s1',
      runtime: 'standalone',
      scope: 'standalone',
      instanceId: 'instance-s1',
      agentProfileId: 'scripted',
      workspacePath: '/workspace',
      metadata: { colour: 'green' },
      containerId: null,
      workspaceSourceRoots: ['/workspace'],
      environment: { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' },
      providerSessionId: 'provider-1',
      lastPromptGeneration: 3,
      runId: 'run-7',
      command: ['agent', 'acp'],
    });
  });

  it('names a required value that its source says is absent', () => {
    const { instance } = inputs();
    expect(reconstruct(inputs({ instance: { ...instance, providerSessionId: null } }))).toEqual({
      kind: 'missing',
      field: 'providerSessionId',
    });
    expect(reconstruct(inputs({ instance: { ...instance, workspaceSourceRoots: [] } }))).toEqual({
      kind: 'missing',
      field: 'workspaceSourceRoots',
    });
    expect(reconstruct(inputs({ profile: null }))).toEqual({ kind: 'missing', field: 'command' });
    expect(reconstruct(inputs({ row: row('s1', { agentProfileId: '' }) }))).toEqual({
      kind: 'missing',
      field: 'agentProfileId',
    });
  });

  it('takes what is legitimately empty as it is [CONTRACT-10]', () => {
    const { instance } = inputs();
    const execution = executionOf({
      row: row('s1'),
      instance: { ...instance, environment: {}, lastPromptGeneration: 0 },
    });
    expect(execution).toMatchObject({
      runId: null,
      lastPromptGeneration: 0,
      metadata: {},
      containerId: null,
    });
  });

  it('drives the instance that was found, and the command that the profile gives now [CONTRACT-07]', () => {
    const execution = executionOf({
      enumerated: found('s1', { instanceId: 'i9', scope: 'docker:b' }),
      profile: { command: ['agent', '--new-flag'] },
    });
    expect(execution).toMatchObject({
      instanceId: 'i9',
      scope: 'docker:b',
      command: ['agent', '--new-flag'],
    });
  });

  it('keeps the environment out of everything that writes an execution down', () => {
    const execution = executionOf();
    expect(execution.environment['TOKEN']).toBe('hush');
    for (const written of [JSON.stringify(execution), inspect(execution), JSON.stringify({ ...execution })]) {
      expect(written).not.toContain('hush');
    }
  });
});
