import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import {
  EXECUTION_SOURCES,
  createExecution,
  type Execution,
  type ExecutionValues,
  type ReconstructionInputs,
} from '../../src/index.ts';
import { reconstruct } from '../../src/reconstruction/reconstruct.ts';
import { row } from '../fixtures/rows.ts';

/** The table as it is written in the documents, by value. */
const DECLARED: Readonly<
  Record<keyof ExecutionValues, [source: keyof ReconstructionInputs, mayBeEmpty: boolean]>
> = {
  executionId: ['row', false],
  sessionId: ['row', false],
  taskId: ['row', false],
  runtime: ['row', false],
  workspacePath: ['row', false],
  containerId: ['row', true],
  metadata: ['row', true],
  agentProfileId: ['row', false],
  taskEnvironmentId: ['store', true],
  scope: ['instance', false],
  instanceId: ['instance', false],
  workspaceSourceRoots: ['instance', false],
  environment: ['instance', true],
  runId: ['instance', true],
  providerSessionId: ['instance', false],
  lastPromptGeneration: ['instance', true],
  agentId: ['profile', false],
  command: ['profile', false],
  continuationCommand: ['profile', false],
  history: ['profile', false],
};

const VALUES: ExecutionValues = {
  executionId: 'execution-s1',
  sessionId: 's1',
  taskId: 'task-s1',
  runtime: 'standalone',
  scope: 'docker:b',
  instanceId: 'i9',
  agentProfileId: 'scripted',
  workspacePath: '/workspace',
  metadata: { colour: 'green' },
  containerId: 'c1',
  taskEnvironmentId: 'environment-7',
  workspaceSourceRoots: ['/workspace', '/shared'],
  environment: { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' },
  providerSessionId: 'provider-1',
  lastPromptGeneration: 3,
  runId: 'run-7',
  agentId: 'gardener',
  command: ['agent', 'acp'],
  continuationCommand: ['agent', 'acp', '--continue'],
  history: 'required',
};

function inputs(given: Partial<ReconstructionInputs> = {}): ReconstructionInputs {
  return {
    row: row('s1', { metadata: { colour: 'green' }, containerId: 'c1' }),
    store: { taskEnvironmentId: 'environment-7' },
    instance: {
      scope: 'docker:b',
      instanceId: 'i9',
      providerSessionId: 'provider-1',
      workspaceSourceRoots: ['/workspace', '/shared'],
      environment: { KANDEV_RUN_ID: 'run-7', TOKEN: 'hush' },
      lastPromptGeneration: 3,
    },
    profile: {
      agentId: 'gardener',
      command: ['agent', 'acp'],
      continuationCommand: ['agent', 'acp', '--continue'],
      history: 'required',
    },
    ...given,
  };
}

function executionOf(given: Partial<ReconstructionInputs> = {}): Execution {
  const result = reconstruct(inputs(given));
  if (result.kind !== 'reconstructed') throw new Error(`${result.name} is missing`);
  return result.execution;
}

describe('the table of declared sources', () => {
  it('has one row for each field that a launched execution has, and none beside [CONTRACT-06] [SURVIVAL-002.3]', () => {
    const launched = createExecution(VALUES);
    expect(Object.keys(EXECUTION_SOURCES).toSorted()).toEqual(
      Object.getOwnPropertyNames(launched).toSorted(),
    );
    expect(
      Object.fromEntries(
        Object.entries(EXECUTION_SOURCES).map(([field, { source, mayBeEmpty }]) => [
          field,
          [source, mayBeEmpty],
        ]),
      ),
    ).toEqual(DECLARED);
  });

  it('reads every value from its one source: changing another source changes nothing [CONTRACT-06] [SURVIVAL-002.14]', () => {
    const before = executionOf();
    const others: ReconstructionInputs = {
      row: {
        ...row('s2', {
          agentProfileId: 'other',
          runtime: 'docker',
          containerId: 'c2',
          metadata: { other: 1 },
        }),
        workspacePath: '/other',
      },
      store: { taskEnvironmentId: 'environment-8' },
      instance: {
        scope: 'standalone',
        instanceId: 'i1',
        providerSessionId: 'provider-2',
        workspaceSourceRoots: ['/'],
        environment: { KANDEV_RUN_ID: 'run-8' },
        lastPromptGeneration: 9,
      },
      profile: { agentId: 'other', command: ['other'], continuationCommand: ['other'], history: 'none' },
    };
    for (const name of ['row', 'store', 'instance', 'profile'] as const) {
      const after = executionOf({ [name]: others[name] });
      const changed = Object.keys(DECLARED).filter(
        (field) => JSON.stringify(Reflect.get(after, field)) !== JSON.stringify(Reflect.get(before, field)),
      );
      const declared = Object.entries(DECLARED).filter(([, [source]]) => source === name);
      expect(changed.toSorted()).toEqual(declared.map(([field]) => field).toSorted());
    }
  });

  it('lets no instance say what command, agent or history is used: what it says beside its own is not looked at [SURVIVAL-002.14] [CONTRACT-07]', () => {
    const { instance } = inputs();
    const lying = {
      ...instance,
      agentId: 'evil',
      command: ['evil'],
      continuationCommand: ['evil'],
      history: 'none',
      agentProfileId: 'evil',
      sessionId: 'evil',
    };
    const execution = executionOf({ instance: lying });
    expect({ ...execution }).toEqual({ ...executionOf() });
    expect(inspect(execution)).not.toContain('evil');
  });
});

describe('the constructor of executions', () => {
  it('takes no execution that lacks a field, so launch and recovery fill the same ones [SURVIVAL-002.3]', () => {
    const { history, ...lacking } = VALUES;
    // @ts-expect-error -- a field that only one of the two fills does not compile
    const made: Execution = createExecution(lacking);
    expect(made).not.toHaveProperty('history', history);
  });
});

describe('reconstruct', () => {
  it('builds what a launch builds, through the same constructor [SURVIVAL-002.3]', () => {
    const launched = createExecution(VALUES);
    const rebuilt = executionOf();
    expect({ ...rebuilt, environment: rebuilt.environment }).toEqual({
      ...launched,
      environment: launched.environment,
    });
  });

  it.each(
    Object.entries(DECLARED)
      .filter(([, [, mayBeEmpty]]) => !mayBeEmpty)
      .map(([field, [source]]) => [field, source] as const),
  )(
    'refuses a %s that its source, the %s, says is absent, and names it [SURVIVAL-002.4]',
    (field, source) => {
      const from = inputs()[source];
      if (from === null) throw new Error('the inputs are complete');
      for (const empty of [Array.isArray(Reflect.get(from, field)) ? [] : '', null, undefined]) {
        expect([empty, reconstruct(inputs({ [source]: { ...from, [field]: empty } }))]).toEqual([
          empty,
          { kind: 'missing', name: field },
        ]);
      }
    },
  );

  it.each<[keyof ExecutionValues, unknown]>([
    ['containerId', null],
    ['containerId', ''],
    ['metadata', {}],
    ['taskEnvironmentId', null],
    ['taskEnvironmentId', ''],
    ['environment', {}],
    ['lastPromptGeneration', 0],
  ])('takes a %s that its source says is %j for what it is [SURVIVAL-002.14]', (field, empty) => {
    const [source, mayBeEmpty] = DECLARED[field];
    const execution = executionOf({ [source]: { ...inputs()[source], [field]: empty } });
    expect([mayBeEmpty, Reflect.get(execution, field)]).toEqual([true, empty]);
  });

  it('names a provider session that the instance never opened, a session that the store has not, and a profile that is gone [SURVIVAL-002.4]', () => {
    const { instance } = inputs();
    expect(reconstruct(inputs({ instance: { ...instance, providerSessionId: null } }))).toEqual({
      kind: 'missing',
      name: 'providerSessionId',
    });
    expect(reconstruct(inputs({ store: null }))).toEqual({ kind: 'missing', name: 'session' });
    expect(reconstruct(inputs({ profile: null }))).toEqual({ kind: 'missing', name: 'profile' });
  });

  it('takes what is legitimately empty as it is, at every source [SURVIVAL-002.14] [CONTRACT-10]', () => {
    const { instance } = inputs();
    const execution = executionOf({
      row: row('s1'),
      store: { taskEnvironmentId: null },
      instance: { ...instance, environment: {}, lastPromptGeneration: 0 },
    });
    expect(execution).toMatchObject({
      containerId: null,
      metadata: {},
      taskEnvironmentId: null,
      runId: null,
      lastPromptGeneration: 0,
    });
    expect(execution.environment).toEqual({});
  });

  it('takes the run identity from the environment of the instance, an empty one as given [CONTRACT-10]', () => {
    const { instance } = inputs();
    const runIdIn = (environment: Record<string, string>): unknown =>
      executionOf({ instance: { ...instance, environment } }).runId;
    expect(runIdIn({ KANDEV_RUN_ID: 'run-8' })).toBe('run-8');
    expect(runIdIn({ KANDEV_RUN_ID: '' })).toBe('');
    expect(runIdIn({ OTHER: 'x' })).toBeNull();
  });

  it('follows the profile as it is now [CONTRACT-07]', () => {
    expect(
      executionOf({
        profile: {
          agentId: 'baker',
          command: ['agent', '--new-flag'],
          continuationCommand: ['agent', '--new-flag', '--resume'],
          history: 'none',
        },
      }),
    ).toMatchObject({
      agentId: 'baker',
      command: ['agent', '--new-flag'],
      continuationCommand: ['agent', '--new-flag', '--resume'],
      history: 'none',
    });
  });

  it('carries what hosts keep in the metadata of a row, names of their own included, as it is', () => {
    const metadata = { officeProfileId: 'office-3', nested: { deep: [1, null] } };
    expect(executionOf({ row: row('s1', { metadata }) }).metadata).toEqual(metadata);
  });

  it('keeps the environment out of everything that writes an execution down [CONTRACT-09]', () => {
    const execution = executionOf();
    expect(execution.environment['TOKEN']).toBe('hush');
    for (const written of [JSON.stringify(execution), inspect(execution), JSON.stringify({ ...execution })]) {
      expect(written).not.toContain('hush');
    }
  });
});
