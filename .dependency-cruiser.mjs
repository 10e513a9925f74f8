import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who may import whom among the packages, and why no more. A package's own folder is always allowed. */
const SIBLINGS = [
  {
    folder: 'control-protocol',
    mayImport: [],
    why: 'The protocol is the contract between the two sides; it depends on neither, so that both can depend on it.',
  },
  {
    folder: 'control-server',
    mayImport: ['control-protocol'],
    why: 'The server does not know who watches it: it outlives every backend and serves any version of one.',
  },
  {
    folder: 'executor-runtimes/contract',
    mayImport: ['control-protocol'],
    why: 'The contract says what a runtime is; it knows the protocol and none of those who implement or use it.',
  },
  {
    folder: 'executor-runtimes/(?!contract/)[^/]+',
    mayImport: ['control-protocol', 'executor-runtimes/contract'],
    why:
      'A runtime launches the command or image it is given and is reached through the contract: ' +
      'it needs no other runtime, no server, no recovery and no ledger.',
  },
  {
    folder: 'recovery',
    mayImport: ['control-protocol', 'executor-runtimes/contract'],
    why: 'Recovery gets runtimes, stores and the ledger handed in, so that one algorithm serves all of them.',
  },
  {
    folder: 'turn-ledger',
    mayImport: ['control-protocol'],
    why: 'The ledger fits the ports of recovery by shape; it needs the types and schemas of the protocol only.',
  },
];

/** The one place that imports an outside library; the rest uses our own narrow function. */
const DOORS = [
  { library: 'ws', doors: ['control-protocol/src/client/', 'control-server/src/http/'] },
  { library: 'kysely', doors: ['turn-ledger/src/'] },
  { library: 'pg', doors: ['host/src/startup/', 'turn-ledger/src/database/postgres/'] },
  { library: '@opentelemetry/api', doors: ['host/src/metrics/meter.ts'] },
  { library: 'pino', doors: ['control-server/src/diagnostics/'] },
  { library: '@agentclientprotocol/sdk', doors: ['control-server/src/agent/'] },
  { library: 'zod', doors: ['control-protocol/src/', 'control-server/src/', 'turn-ledger/src/'] },
];

/**
 * What each workspace declares, by its folder; the cruiser itself does not see through the links between workspaces.
 *
 * @type {Map<string, Record<string, Record<string, string> | undefined> & { name: string }>}
 */
// oxlint-disable-next-line typescript/no-unsafe-assignment -- package.json files of our own
const manifests = new Map(
  globSync('{packages/*,packages/executor-runtimes/*,tools/*,examples/*}/package.json', {
    cwd: import.meta.dirname,
  }).map((file) => [dirname(file), JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'))]),
);

/**
 * @param {string} folder
 * @param {string} within
 * @param {(Record<string, string> | undefined)[]} declared
 */
const undeclaredSibling = (folder, within, ...declared) => ({
  name: 'undeclared-sibling',
  comment:
    'A workspace names the siblings it imports in its package.json: src in dependencies, tests at least in devDependencies.',
  severity: 'error',
  from: { path: `^${folder}/${within}` },
  to: {
    path: '^(packages|tools|examples)/',
    pathNot: [
      `^${folder}/`,
      ...[...manifests]
        .filter(([, { name }]) => declared.some((group) => group?.[name]))
        .map(([of]) => `^${of}/`),
    ],
  },
});

/** @param {string} folder */
const nameOf = (folder) => (folder.includes('(?!') ? 'runtime' : folder.replace('executor-runtimes/', ''));
/** The folder that the importing file's package has; `$1` in a rule's `to`. */
const PACKAGE = '^packages/(executor-runtimes/[^/]+|[^/]+)/';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...SIBLINGS.map(({ folder, mayImport, why }) => ({
      name: `siblings-of-${nameOf(folder)}`,
      comment: why,
      severity: 'error',
      from: { path: `^packages/(${folder})/src/` },
      to: {
        path: '^packages/',
        pathNot: ['^packages/$1/', ...mayImport.map((sibling) => `^packages/${sibling}/`)],
      },
    })),
    {
      name: 'protocol-without-node',
      comment: 'The schemas must load anywhere; only the client (subpath ./client) touches Node.',
      severity: 'error',
      from: { path: '^packages/control-protocol/src/', pathNot: '^packages/control-protocol/src/client/' },
      to: { dependencyTypes: ['core'] },
    },
    ...DOORS.map(({ library, doors }) => ({
      name: `door-to-${library.replace(/^@|\/.*/g, '')}`,
      comment:
        `${library} has one door, ${doors.join(' and ')}; elsewhere use what that door offers, ` +
        'so that the library can change without us changing everywhere.',
      severity: 'error',
      from: { path: '^packages/.+/src/', pathNot: doors.map((door) => `^packages/${door}`) },
      to: { path: `(^|/)node_modules/(@types/)?${library}/` },
    })),
    {
      name: 'tools-are-not-shipped',
      comment: 'Tools and examples are private: tests may use them, what users install may not.',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/.+/test/' },
      to: { path: '^(tools|examples)/' },
    },
    {
      name: 'examples-are-the-end',
      comment: 'An example shows how to use the packages; nothing builds on it.',
      severity: 'error',
      from: { pathNot: '^examples/' },
      to: { path: '^examples/' },
    },
    {
      name: 'src-not-to-test',
      comment: 'Tests use the code, never the other way round; what both need belongs in src.',
      severity: 'error',
      from: { path: '/src/' },
      to: { path: '/test/' },
    },
    {
      name: 'siblings-by-name',
      comment:
        'A sibling is imported by its package name, through its declared exports, never by a path into it.',
      severity: 'error',
      from: { path: PACKAGE },
      to: { path: '^(packages|tools|examples)/', pathNot: '^packages/$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'tools-by-name',
      comment:
        'A package or another tool is imported by its package name, never by a path into it; only the benchmark of a ' +
        'part that no package exports reaches for that part.',
      severity: 'error',
      from: { path: '^(tools|examples)/([^/]+)/', pathNot: '^tools/bench/src/journal/' },
      to: { path: '^(packages|tools|examples)/', pathNot: '^$1/$2/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-circular',
      comment:
        'What imports each other, types included, is one thing in two files: join it or cut it elsewhere.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'not-to-unresolvable',
      comment:
        'Nothing answers to this import: a misspelt path, or a subpath that the package does not export.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    ...[...manifests].flatMap(([folder, { dependencies, peerDependencies, devDependencies }]) => [
      undeclaredSibling(folder, 'src/', dependencies, peerDependencies),
      undeclaredSibling(folder, '(?!src/)', dependencies, peerDependencies, devDependencies),
    ]),
    {
      name: 'undeclared-dependency',
      comment:
        "Every workspace names what it imports in its package.json; what happens to be installed isn't enough.",
      severity: 'error',
      from: { path: '^(packages|tools|examples)/' },
      to: {
        dependencyTypes: ['npm-no-pkg', 'npm-unknown'],
        // The test runner, the bundler and the compiler are declared once, in the root.
        pathNot: '(^|/)node_modules/(@jest/globals|tsup|typescript)/',
      },
    },
    {
      name: 'src-without-root-tools',
      comment: 'The test runner, the bundler and the compiler are not there for users.',
      severity: 'error',
      from: { path: '^packages/.+/src/' },
      to: { path: '(^|/)node_modules/(@jest/globals|tsup|typescript)/' },
    },
    {
      name: 'src-not-to-dev-dependency',
      comment: 'Users do not get devDependencies: what src imports belongs in dependencies.',
      severity: 'error',
      from: { path: '^packages/.+/src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm-peer', 'type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(packages|tools|examples)/.+/(dist|coverage|\\.tsup)/' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@holdfast/source', 'import', 'node', 'types', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
