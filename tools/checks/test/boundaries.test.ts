import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { readWorkspaces } from '../src/workspace.ts';
import { makeCheckout, OURS, type Checkout } from './checkout.ts';

/** Where a module stands, what it imports, and the rule that forbids it. */
const FORBIDDEN = [
  ['packages/control-protocol/src/a.ts', '@holdfast/recovery', 'siblings-of-control-protocol'],
  ['packages/control-protocol/src/b.ts', 'node:fs', 'protocol-without-node'],
  ['packages/control-protocol/src/c.ts', 'fs', 'protocol-without-node'],
  ['packages/control-protocol/src/d.ts', 'ws', 'door-to-ws'],
  ['packages/control-server/src/a.ts', '@holdfast/executor-contract', 'siblings-of-control-server'],
  ['packages/control-server/src/b.ts', '@holdfast/turn-ledger', 'siblings-of-control-server'],
  ['packages/control-server/src/c.ts', 'ws', 'door-to-ws'],
  ['packages/control-server/src/d.ts', 'pino', 'door-to-pino'],
  ['packages/control-server/src/e.ts', '@agentclientprotocol/sdk', 'door-to-agentclientprotocol'],
  ['packages/executor-runtimes/contract/src/a.ts', '@holdfast/control-server', 'siblings-of-contract'],
  ['packages/executor-runtimes/contract/src/b.ts', '@holdfast/executor-standalone', 'siblings-of-contract'],
  ['packages/executor-runtimes/standalone/src/a.ts', '@holdfast/control-server', 'siblings-of-runtime'],
  ['packages/executor-runtimes/standalone/src/b.ts', '@holdfast/recovery', 'siblings-of-runtime'],
  ['packages/executor-runtimes/standalone/src/c.ts', 'zod', 'door-to-zod'],
  ['packages/executor-runtimes/other/src/a.ts', '@holdfast/executor-standalone', 'siblings-of-runtime'],
  ['packages/recovery/src/a.ts', '@holdfast/control-server', 'siblings-of-recovery'],
  ['packages/recovery/src/b.ts', '@holdfast/turn-ledger', 'siblings-of-recovery'],
  ['packages/recovery/src/c.ts', 'kysely', 'door-to-kysely'],
  ['packages/recovery/src/d.ts', 'kysely', 'undeclared-dependency'],
  ['packages/turn-ledger/src/a.ts', '@holdfast/executor-contract', 'siblings-of-turn-ledger'],
  ['packages/host/src/a.ts', '@holdfast/executor-standalone', 'undeclared-sibling'],
  ['packages/host/src/b.ts', '@holdfast/testbeds', 'tools-are-not-shipped'],
  ['packages/host/src/c.ts', '../../recovery/src/index.ts', 'siblings-by-name'],
  ['packages/host/src/d.ts', '@holdfast/recovery/inside', 'not-to-unresolvable'],
  ['packages/host/src/e.ts', '../test/allowed.ts', 'src-not-to-test'],
  ['packages/host/src/f.ts', '@jest/globals', 'src-without-root-tools'],
  ['packages/host/src/g.ts', './ring.ts', 'no-circular'],
  ['packages/control-server/src/f.ts', 'fast-check', 'src-not-to-dev-dependency'],
  ['packages/host/test/a.ts', '../../../examples/survive-a-restart/src/allowed.ts', 'examples-are-the-end'],
  ['packages/turn-ledger/test/a.ts', '@holdfast/scripted-agent', 'undeclared-sibling'],
  ['tools/bench/src/a.ts', '../../testbeds/src/index.ts', 'tools-by-name'],
  ['tools/testbeds/src/a.ts', 'zod', 'undeclared-dependency'],
] as const;

const ALLOWED = [
  ['packages/control-protocol/src/client/allowed.ts', 'ws'],
  ['packages/control-protocol/src/client/allowed-core.ts', 'node:http'],
  ['packages/control-protocol/src/allowed.ts', 'zod'],
  ['packages/control-protocol/test/allowed.ts', 'node:fs'],
  ['packages/control-server/src/http/allowed.ts', 'ws'],
  ['packages/control-server/src/diagnostics/allowed.ts', 'pino'],
  ['packages/control-server/src/agent/allowed.ts', '@agentclientprotocol/sdk'],
  ['packages/control-server/src/allowed.ts', '@holdfast/control-protocol'],
  ['packages/executor-runtimes/standalone/src/allowed.ts', '@holdfast/executor-contract'],
  ['packages/recovery/src/allowed.ts', '@holdfast/control-protocol/client'],
  ['packages/recovery/test/allowed.ts', '@holdfast/control-server'],
  ['packages/turn-ledger/src/allowed.ts', 'kysely'],
  ['packages/host/src/allowed.ts', '@holdfast/turn-ledger'],
  ['packages/host/test/allowed.ts', '@holdfast/executor-standalone'],
  ['packages/host/test/allowed-tool.ts', '@holdfast/testbeds'],
  ['tools/scripted-agent/src/allowed.ts', '@agentclientprotocol/sdk'],
  ['tools/bench/src/allowed.ts', '@holdfast/host'],
  ['tools/acceptance/src/allowed.ts', 'typescript'],
  ['examples/survive-a-restart/src/allowed.ts', '@holdfast/scripted-agent'],
] as const;

/** Where an import must be one of types: what a package needs to run it has to depend on. */
const TYPES_ONLY: ReadonlySet<string> = new Set(['packages/control-server/src/agent/allowed.ts']);

const LIBRARIES = [
  'ws',
  'zod',
  'kysely',
  'pino',
  '@agentclientprotocol/sdk',
  'fast-check',
  '@jest/globals',
  'typescript',
];

/** The outcome of one cruise over a checkout with all of the above planted in it, as the long text that people see. */
function cruise(checkout: Checkout): string {
  const { root, write } = checkout;
  for (const library of LIBRARIES) {
    write(`node_modules/${library}/package.json`, { name: library, version: '1.0.0', main: 'index.js' });
    write(`node_modules/${library}/index.js`, '');
  }
  write('packages/executor-runtimes/other/package.json', {
    name: '@holdfast/executor-other',
    version: '0.1.0',
  });
  write('packages/host/src/ring.ts', `import './g.ts';\n`);
  for (const { folder, manifest } of readWorkspaces(OURS)) {
    write(`${folder}/package.json`, readFileSync(join(OURS, folder, 'package.json'), 'utf8'));
    const sources = Object.values(manifest.exports).map(
      (target) => JSON.stringify(target).match(/src\/[\w/]+\.ts/)?.[0],
    );
    for (const source of sources) if (source !== undefined) write(`${folder}/${source}`, 'export {};\n');
    const link = join(root, 'node_modules', manifest.name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, folder), link);
  }
  for (const [file, imported] of [...FORBIDDEN, ...ALLOWED]) {
    const named = `import type { X } from '${imported}';\nexport type Y = X;\n`;
    write(file, TYPES_ONLY.has(file) ? named : `import '${imported}';\n`);
  }

  const bin = join(OURS, 'node_modules/.bin/depcruise');
  const args = [
    'packages',
    'tools',
    'examples',
    '--config',
    join(OURS, '.dependency-cruiser.mjs'),
    '-T',
    'err-long',
  ];
  const result = spawnSync(process.execPath, [bin, ...args], { cwd: root, encoding: 'utf8' });
  // Under nx, colours are forced on every program.
  return stripVTControlCharacters(result.stdout + result.stderr);
}

describe('the boundaries between packages', () => {
  let checkout: Checkout | undefined;
  let violations: string[] = [];
  let output = '';
  beforeAll(() => {
    checkout = makeCheckout({ 'package.json': readFileSync(join(OURS, 'package.json'), 'utf8') }, 'bare');
    output = cruise(checkout);
    violations = output.split('\n').filter((line) => /^\s*error /.test(line));
  });
  afterAll(() => {
    checkout?.remove();
  });

  it.each<readonly [string, string, string]>(FORBIDDEN)(
    '%s may not import %s: %s',
    (file, _imported, rule) => {
      expect(violations.filter((line) => line.includes(`${file} `)).join('\n')).toContain(`error ${rule}: `);
    },
  );

  it.each<readonly [string, string]>(ALLOWED)('%s may import %s', (file) => {
    expect(violations.filter((line) => line.includes(`: ${file} `))).toEqual([]);
  });

  it('says why', () => {
    const text = output.replaceAll(/\s+/g, ' ');
    expect(text).toContain('it outlives every backend and serves any version of one.');
    expect(text).toContain('ws has one door, control-protocol/src/client/ and control-server/src/http/;');
  });
});
