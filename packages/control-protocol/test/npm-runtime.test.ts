import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  CAPABILITIES,
  NPM_RUNTIME_CAPABILITY,
  NpmFailureClass,
  REQUIRED_CAPABILITIES,
  StartAgent,
  missingCapabilities,
  npmFailureAdvice,
  npmRuntimeCommand,
  parsePackageSpec,
  requestIssues,
} from '../src/index.ts';

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'no name or no version': [
    '',
    '@',
    'agent',
    'agent@',
    '@1.2.3',
    '@acme/agent',
    '@acme@1.2.3',
    'agent@@1.2.3',
  ],
  'a tag or a range': ['a@latest', 'a@1', 'a@1.2', 'a@^1.2.3', 'a@~1.2.3', 'a@>=1.2.3', 'a@*', 'a@1.2.x'],
  'more than one version': ['a@1.2.3 || 2.0.0', 'a@1.2.3 - 2.0.0', 'a@1.2.3@1.2.3'],
  'a version in other words': ['a@v1.2.3', 'a@=1.2.3', 'a@01.2.3', 'a@1.2.3-01', 'a@1.2.3-', 'a@1.2.3-a..b'],
  'a version that no registry has': ['a@1.2.3+build', 'a@1.2.3.4', 'a@9007199254740993.0.0', 'a@１.2.3'],
  'something else than a registry': [
    'x@npm:a@1.2.3',
    'a@file:../a',
    'a@git+ssh://host/x',
    'a@https://host/x.tgz',
  ],
  'another host': ['a@acme/agent', 'acme/agent@1.2.3', 'github:acme/agent@1.2.3', 'https://host/agent@1.2.3'],
  'a path': ['./a@1.2.3', '../a@1.2.3', '/a@1.2.3', '~/a@1.2.3', '.a@1.2.3', 'C:a@1.2.3', 'a\\b@1.2.3'],
  'a way out': [
    '@acme/../a@1.2.3',
    '@../a@1.2.3',
    'a..b@1.2.3',
    '@acme/a/x@1.2.3',
    '@acme//a@1.2.3',
    '@/a@1.2.3',
  ],
  'an archive': ['a.tgz@1.2.3', '@acme/a.TAR@1.2.3', 'a.tar.gz@1.2.3', 'a@1.2.3-a.tgz', 'a@1.2.3-a.tar'],
  'a name that npm refuses': [
    'node_modules@1.2.3',
    'favicon.ico@1.2.3',
    '_a@1.2.3',
    'Agent@1.2.3',
    'ä@1.2.3',
  ],
  'an option': ['-a@1.2.3', '--agent@1.2.3', '@-acme/a@1.2.3'],
  'white space or NUL': [' a@1.2.3', 'a@1.2.3 ', 'a @1.2.3', 'a@1.2.3\n', 'a@1.2.3\0', 'a\0b@1.2.3'],
  'characters with a meaning elsewhere': ['a%2fb@1.2.3', "a'b@1.2.3", 'a$b@1.2.3', 'a*@1.2.3', 'a~@1.2.3'],
  'too long': [`${'a'.repeat(215)}@1.2.3`, `a@1.0.0-${'a'.repeat(80)}`],
};

describe('an exact package spec', () => {
  it.each([
    ['agent@1.2.3', 'agent', '1.2.3'],
    ['@acme/agent@0.0.0', '@acme/agent', '0.0.0'],
    ['@acme/agent.acp_x-1@10.20.30-rc.1', '@acme/agent.acp_x-1', '10.20.30-rc.1'],
    ['a@1.0.0-0', 'a', '1.0.0-0'],
    ['a@1.0.0--', 'a', '1.0.0--'],
  ])('is %s', (spec, name, version) => {
    expect(parsePackageSpec(spec)).toEqual({ name, version });
  });

  it.each(Object.entries(REFUSED).flatMap(([why, specs]) => specs.map((spec) => [spec, why] as const)))(
    'is not %j: %s [RUNTIME-002.4]',
    (spec) => {
      expect(parsePackageSpec(spec)).toBeUndefined();
    },
  );

  it('is put together again as it was', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[@/.ab01~: -]{0,12}$/), (spec) => {
        const parsed = parsePackageSpec(spec);
        return parsed === undefined || `${parsed.name}@${parsed.version}` === spec;
      }),
      { numRuns: 5000 },
    );
  });
});

describe('the start of an agent that npm runs', () => {
  const packageSpec = '@acme/agent@1.2.3';
  const start = (command: readonly string[], npmRuntime: object = { packageSpec }) =>
    StartAgent.safeParse({ command, session: { kind: 'new' }, mcpServers: [], approval: 'ask', npmRuntime });

  it.each(['--prefer-offline', '--prefer-online'] as const)('takes the command with %s', (preference) => {
    expect(start(npmRuntimeCommand(packageSpec, [], preference)).success).toBe(true);
    expect(start(npmRuntimeCommand(packageSpec, ['--acp', ''], preference)).success).toBe(true);
  });

  it.each([
    [['my-agent']],
    [['npx', '--yes', '--prefer-offline']],
    [['npx', '--yes', '--prefer-offline', '@acme/agent@1.2.4']],
    [['npx', '--yes', '--prefer-offline', '--registry=http://elsewhere.invalid', packageSpec]],
    [['npx', '--yes', packageSpec]],
    [['npx', '--yes', '--offline', packageSpec]],
    [['/usr/bin/npx', '--yes', '--prefer-offline', packageSpec]],
    [['npx', '--prefer-offline', '--yes', packageSpec]],
  ])('says what the command must be: %j', (command) => {
    const { error } = start(command);
    expect(error && requestIssues(error)).toEqual([
      { path: ['command'], message: expect.stringContaining(`--prefer-online, and ${packageSpec}`) },
    ]);
  });

  it('leaves other commands alone', () => {
    const { success } = StartAgent.safeParse({
      command: ['my-agent'],
      session: { kind: 'new' },
      mcpServers: [],
      approval: 'ask',
    });
    expect(success).toBe(true);
  });

  it('takes exact packages only', () => {
    expect(start(['npx'], { packageSpec: 'agent@latest' }).success).toBe(false);
    expect(start(['npx'], { packageSpec, cache: '/' }).success).toBe(false);
  });
});

it('has one line of advice for each class of failure', () => {
  for (const stderrClass of NpmFailureClass.options) {
    expect(npmFailureAdvice(stderrClass, '0123456789abcdef')).toMatch(/^\S[^\n<>]{20,}[a-z)]\.$/);
  }
  expect(npmFailureAdvice('npm_broken_tree', '0123456789abcdef')).toContain('_npx/0123456789abcdef');
});

it('offers npm runtimes without asking every server for them', () => {
  expect(missingCapabilities(REQUIRED_CAPABILITIES, CAPABILITIES)).toEqual([]);
  expect(missingCapabilities([NPM_RUNTIME_CAPABILITY], CAPABILITIES)).toEqual([]);
  expect(missingCapabilities([NPM_RUNTIME_CAPABILITY], REQUIRED_CAPABILITIES)).toEqual([
    NPM_RUNTIME_CAPABILITY,
  ]);
});
