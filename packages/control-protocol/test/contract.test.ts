import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  COMMON_ERRORS,
  CREDENTIAL_ERRORS,
  CreateInstance,
  ERROR_STATUS,
  EVENT_RETENTION,
  Id,
  Identity,
  InstanceEvent,
  OPERATIONS,
  Prompt,
  fillPath,
  missingCapabilities,
  openApiDocument,
  ownershipProof,
  type Operation,
} from '../src/index.ts';
import * as surface from '../src/index.ts';
import * as clientSurface from '../src/client/index.ts';

const operations = Object.entries<Operation>(OPERATIONS);

describe('the operation table', () => {
  it('has one row for each method and path', () => {
    const keys = operations.map(([, { method, path }]) => `${method} ${path}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has a parameter for each place in each path', () => {
    for (const [, { path, params }] of operations) {
      const places = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(places).toEqual(Object.keys(params.shape));
    }
  });

  it('leaves open exactly identity, proof and bootstrap', () => {
    expect(operations.filter(([, { access }]) => access === 'open').map(([name]) => name)).toEqual([
      'getIdentity',
      'proveOwnership',
      'bootstrap',
    ]);
  });

  it('takes little from whoever has no credential', () => {
    const open = operations.filter(([, { access }]) => access === 'open');
    expect(new Set(open.map(([, { maxBodyBytes }]) => maxBodyBytes))).toEqual(new Set([16 * 1024]));
  });

  it('answers every error code by one of its operations', () => {
    const answered = new Set([
      ...COMMON_ERRORS,
      ...CREDENTIAL_ERRORS,
      ...operations.flatMap(([, { errors }]) => errors),
    ]);
    expect(Object.keys(ERROR_STATUS).filter((code) => !new Set<string>(answered).has(code))).toEqual([]);
  });

  it('is the OpenAPI document in docs', async () => {
    const file = new URL('../../../docs/protocol/openapi.json', import.meta.url);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  it('fills paths and escapes what goes in', () => {
    expect(fillPath('/a/{x}/b/{y}', { x: '1', y: 'a/b' })).toBe('/a/1/b/a%2Fb');
    expect(() => fillPath('/a/{x}', {})).toThrow('needs a value for x');
  });
});

describe('schemas', () => {
  it.each(['', 'a b', 'a/b', '../x', 'ü', 'x'.repeat(129), 'a\0'])('do not take %j as an id', (id) => {
    expect(Id.safeParse(id).success).toBe(false);
  });

  it('refuse unknown request fields', () => {
    const parsed = Prompt.safeParse({ promptGeneration: 1, content: [{ type: 'text' }], extra: 1 });
    expect(parsed.error?.issues[0]?.message).toContain('extra');
  });

  it('drop unknown response fields', () => {
    const identity = { serverId: 's', capabilities: [], unownedPeriodMs: 1 };
    expect(Identity.parse({ ...identity, home: '/secret' })).toEqual(identity);
  });

  it('take only absolute workspaces and usable variables', () => {
    const request = {
      executionId: 'e',
      sessionId: 's',
      taskId: 't',
      workspacePath: '/w',
      workspaceSourceRoots: [],
      environment: {},
    };
    expect(CreateInstance.safeParse(request).success).toBe(true);
    expect(CreateInstance.safeParse({ ...request, workspacePath: 'w' }).success).toBe(false);
    expect(CreateInstance.safeParse({ ...request, environment: { 'A=B': '1' } }).success).toBe(false);
    expect(CreateInstance.safeParse({ ...request, environment: { A: '\0' } }).success).toBe(false);
  });

  it('keep an agent’s update as it is, unknown variants and fields included', () => {
    const event = {
      type: 'session_update',
      update: { sessionUpdate: 'from_the_future', deep: { x: [1, null] } },
    };
    expect(InstanceEvent.parse(event)).toEqual(event);
  });
});

describe('event classes', () => {
  it('are covered but for exactly two', () => {
    const excluded = Object.entries(EVENT_RETENTION).filter(([, retention]) => retention === 'excluded');
    expect(excluded.map(([type]) => type)).toEqual(['mcp_attachment_attempt', 'mcp_attachment_evidence']);
    expect(Object.keys(EVENT_RETENTION)).toHaveLength(13);
  });
});

describe('ownership proof', () => {
  const input = {
    credential: 'secret',
    serverId: 'server',
    audience: '127.0.0.1:1',
    challenge: 'c'.repeat(43),
  };

  it('is the documented HMAC', async () => {
    const message = ['holdfast/ownership-proof/v1', input.serverId, input.audience, input.challenge].join(
      '\0',
    );
    const expected = createHmac('sha256', input.credential).update(message).digest('base64url');
    expect(await ownershipProof(input)).toBe(expected);
  });

  it.each(['credential', 'serverId', 'audience', 'challenge'] as const)(
    'differs with another %s [OWNERSHIP-001.10]',
    async (field) => {
      expect(await ownershipProof({ ...input, [field]: 'other' })).not.toBe(await ownershipProof(input));
    },
  );
});

it('compares capabilities as sets, never as versions [OWNERSHIP-004.2]', () => {
  expect(missingCapabilities(['a.v1', 'b.v2'], ['b.v2', 'c.v1', 'a.v1'])).toEqual([]);
  expect(missingCapabilities(['a.v1'], ['a.v2', 'a.v10'])).toEqual(['a.v1']);
});

it('exports what is named here and nothing else', () => {
  expect(Object.keys(surface).toSorted()).toMatchInlineSnapshot(`
[
  "ANSWER_MEDIA_TYPES",
  "ActiveTurn",
  "AgentExit",
  "AgentStartPhase",
  "AgentStartReason",
  "BASE_PATH",
  "CAPABILITIES",
  "COMMON_ERRORS",
  "CREDENTIAL_ERRORS",
  "Challenge",
  "ConfigOptionValue",
  "ContentBlock",
  "ControlError",
  "CreateInstance",
  "Credential",
  "DirectoryEntry",
  "ERROR_STATUS",
  "EVENTS_PATH",
  "EVENT_RETENTION",
  "ErrorEnvelope",
  "Id",
  "Identity",
  "Instance",
  "InstanceEvent",
  "InstanceStatus",
  "JsonObject",
  "LAST_WORDS",
  "LastWords",
  "MAX_BODY_BYTES",
  "MAX_DIRECTORY_ENTRIES",
  "MAX_FILE_SLICE_BYTES",
  "MAX_FRAME_BYTES",
  "MAX_PROMPT_BODY_BYTES",
  "MAX_RETAINED_OUTCOMES",
  "Milliseconds",
  "NPM_RUNTIME_CAPABILITY",
  "NpmFailureClass",
  "NpmStartFailure",
  "OPERATIONS",
  "OwnershipDetails",
  "OwnershipProofs",
  "PACKAGE_SPEC_EXPECTED",
  "PackageSpec",
  "PermissionAnswer",
  "PermissionCancelReason",
  "PermissionOption",
  "PermissionRequest",
  "Prompt",
  "PromptGeneration",
  "REQUIRED_CAPABILITIES",
  "Reconstruction",
  "RepairedRuntime",
  "RetainedOutcome",
  "RotationId",
  "SESSION_CHANGE_LIMIT_MS",
  "SETTINGS",
  "STREAM_CLOSE",
  "STREAM_WINDOW_EVENTS",
  "Scope",
  "SequenceNumber",
  "SequencedEvent",
  "SessionChoice",
  "SettingError",
  "StartAgent",
  "StartBudgetMs",
  "StartedAgent",
  "StreamMessage",
  "StreamRequest",
  "Timestamp",
  "TurnOutcome",
  "TurnReport",
  "controlServerEnvironment",
  "fillPath",
  "formatDuration",
  "invalidRequest",
  "isErrorCode",
  "isOperationName",
  "missingCapabilities",
  "npmFailureAdvice",
  "npmPreferenceOf",
  "npmRuntimeCommand",
  "openApiDocument",
  "ownershipProof",
  "parseDuration",
  "parsePackageSpec",
  "requestIssues",
  "resolveSettings",
  "unownedPeriodInForce",
]
`);
  expect(Object.keys(clientSurface).toSorted()).toMatchInlineSnapshot(`
[
  "ControlClient",
  "EventStream",
  "NoAnswerError",
  "UnreadableAnswerError",
]
`);
});
