import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { NpmFailureClass } from '@holdfast/control-protocol';
import * as fc from 'fast-check';
import { z } from 'zod';
import { StderrTail } from '../../src/agent/stderr-tail.ts';
import { classifyNpmFailure, type FailedNpmStart } from '../../src/npm-runtime/classify-npm-failure.ts';

const FIXTURES = new URL('fixtures/', import.meta.url);
const Index = z.array(
  z.object({ file: z.string(), exitCode: z.int(), asked: z.string(), class: NpmFailureClass }),
);
const index = Index.parse(JSON.parse(readFileSync(new URL('index.json', FIXTURES), 'utf8')));
const textOf = (file: string): string => readFileSync(new URL(file, FIXTURES), 'utf8');

function linesOf(text: string): string[] {
  const tail = new StderrTail();
  tail.add(text);
  return tail.read().lines;
}

const SPEC = '@acme/agent@1.0.1';
const STALE = textOf('npm11-etarget-stale-prefer-offline.txt');

function classOf(text: string, facts: Partial<FailedNpmStart> = {}): NpmFailureClass {
  return classifyNpmFailure({
    spec: SPEC,
    stderr: linesOf(text),
    exit: { code: 1, signal: null },
    initialized: false,
    ...facts,
  });
}

const NODE_SAYS = [
  'Warning: Ignoring extra certs from `/etc/ca.pem`, load failed: error:80000002:system library::No such file or directory',
  '(node:17556) [DEP0060] DeprecationWarning: The `util._extend` API is deprecated. Please use Object.assign() instead.',
  '(node:7) ExperimentalWarning: Type Stripping is an experimental feature and might change at any time\n(Use `node --trace-warnings ...` to show where the warning was created)',
  "(node:9) Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED environment variable to '0' makes TLS connections insecure.",
  'Debugger listening on ws://127.0.0.1:9229/33b83f83\nFor help, see: https://nodejs.org/en/docs/inspector',
  'Debugger attached.\nWaiting for the debugger to disconnect...\nDebugger ending on ws://127.0.0.1:9229/33b83f83',
  'Starting inspector on 127.0.0.1:9229 failed: address already in use',
];

describe('what npm really wrote', () => {
  it('is all in the index', () => {
    const files = readdirSync(FIXTURES).filter((name) => name.endsWith('.txt'));
    expect(index.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
  });

  it.each(index)('$file is $class', ({ file, asked, exitCode, class: expected }) => {
    const facts = { spec: asked, exit: { code: exitCode, signal: null } };
    expect(classOf(textOf(file), facts)).toBe(expected);
    expect(classOf(textOf(file).replaceAll('\n', '\r\n'), facts)).toBe(expected);
    expect(
      classOf(textOf(file).replaceAll('npm error', 'npm ERR!').replaceAll('npm warn', 'npm WARN'), facts),
    ).toBe(expected);
    const coloured = textOf(file).replaceAll(/^npm (\w+)/gm, '\u001b[1mnpm\u001b[22m \u001b[31m$1\u001b[39m');
    expect(classOf(coloured, facts)).toBe(expected);
  });

  // What Node itself adds, by the settings of the environment: before the rest, within it or after it.
  it.each(index)('$file is $class, whatever Node itself has to say', ({ file, asked, exitCode, ...rest }) => {
    const facts = { spec: asked, exit: { code: exitCode, signal: null } };
    const lines = textOf(file).split('\n');
    for (const said of NODE_SAYS) {
      for (const at of [0, 1, Math.ceil(lines.length / 2), lines.length - 1]) {
        const text = lines.toSpliced(at, 0, said).join('\n');
        expect([said, at, classOf(text, facts)]).toEqual([said, at, rest.class]);
      }
    }
  });

  it.each(index)('$file explains nothing once the agent has answered', ({ file, asked, exitCode }) => {
    const facts = { spec: asked, exit: { code: exitCode, signal: null }, initialized: true };
    expect(['none', 'unexplained_exit']).toContain(classOf(textOf(file), facts));
  });
});

describe('the evidence of stale metadata', () => {
  it('is taken when it is whole', () => {
    expect(classOf(STALE)).toBe('npm_stale_metadata');
    expect(classOf(`npm warn deprecated x@1: old\nnpm notice\n${STALE}`)).toBe('npm_stale_metadata');
    expect(classOf(`Debugger attached.\n${STALE}`)).toBe('npm_stale_metadata');
  });

  const noMatch = (what: string): string => STALE.replace(`${SPEC}.`, what);
  it.each([
    ['another package', noMatch('@acme/other@1.0.1.'), 'npm_broken_dependency'],
    ['the name without its scope', noMatch('agent@1.0.1.'), 'npm_broken_dependency'],
    ['a longer version', noMatch('@acme/agent@1.0.10.'), 'npm_broken_dependency'],
    ['a prerelease of the version', noMatch('@acme/agent@1.0.1-rc.1.'), 'npm_broken_dependency'],
    ['a shorter version', noMatch('@acme/agent@1.0.'), 'npm_broken_dependency'],
    ['a range', noMatch('@acme/agent@^1.0.1.'), 'npm_broken_dependency'],
    ['no full stop', noMatch(SPEC), 'npm_broken_dependency'],
    ['words after it', noMatch(`${SPEC}. Or so`), 'npm_broken_dependency'],
    ['a date', noMatch(`${SPEC} with a date before 11/1/2026, 12:00:00 AM.`), 'npm_release_policy'],
    ['no code line', STALE.replace('npm error code ETARGET\n', ''), 'unexplained_exit'],
    ['no line but the code', 'npm error code ETARGET\n', 'unexplained_exit'],
    ['another code', STALE.replace('code ETARGET', 'code ETARGETS'), 'unexplained_exit'],
    [
      'a code in the middle of a line',
      STALE.replace('npm error code', 'saw npm error code'),
      'unexplained_exit',
    ],
    ['lines that are not npm’s own', STALE.replaceAll('npm error', 'agent: npm error'), 'unexplained_exit'],
    ['lines that are quoted', STALE.replaceAll(/^npm/gm, '> npm'), 'unexplained_exit'],
    ['lines without a head', STALE.replaceAll('npm error ', ''), 'unexplained_exit'],
    ['an agent that warns', `${STALE}\nWarning: the agent gives up.\n`, 'unexplained_exit'],
    ['an agent that goes on', `${STALE}\nThe agent gives up.\n`, 'unexplained_exit'],
    ['an error after it', `${STALE}npm error code ETARGET\n`, 'unexplained_exit'],
    ['two errors', `${STALE}${STALE}`, 'unexplained_exit'],
    ['an error before it', `npm error something\n${STALE}`, 'unexplained_exit'],
    [
      'two versions',
      STALE.replace(/^(.*No matching.*)$/m, `$1\nnpm error notarget No matching version found for x@1.`),
      'unexplained_exit',
    ],
    ['a head that was cut off', STALE.slice('npm error code ETARGET\nnpm er'.length), 'unexplained_exit'],
    ['nothing', '', 'unexplained_exit'],
  ] as const)('is not taken with %s', (_name, text, expected) => {
    expect(classOf(text)).toBe(expected);
  });

  it('needs a process that ended by itself, with a failure, before it answered', () => {
    expect(classOf(STALE, { exit: null })).toBe('none');
    expect(classOf(STALE, { exit: { code: 0, signal: null } })).toBe('none');
    expect(classOf(STALE, { exit: { code: null, signal: 'SIGKILL' } })).toBe('unexplained_exit');
    expect(classOf(STALE, { exit: { code: null, signal: null } })).toBe('unexplained_exit');
    expect(classOf(STALE, { initialized: true })).toBe('unexplained_exit');
  });

  it('is found behind more output than is kept, and not in a line that is cut', () => {
    const noise = Array.from({ length: 5000 }, (_, n) => `npm http fetch GET 200 ${String(n)}`).join('\n');
    expect(classOf(`${noise}\n${STALE}`)).toBe('npm_stale_metadata');
    expect(classOf(`${STALE}\n${noise}`)).toBe('unexplained_exit');
    expect(classOf(STALE.replace('ETARGET', 'X'.repeat(5000)))).toBe('unexplained_exit');
    expect(classOf(noMatch(`${SPEC}${' '.repeat(5000)}.`))).toBe('npm_broken_dependency');
  });

  it('is never found for another spec than npm names', () => {
    const spec = fc.stringMatching(/^(?:@[a-z]{1,3}\/)?[a-z]{1,3}@[0-9]\.[0-9]{1,2}\.[0-9]$/);
    fc.assert(
      fc.property(spec, spec, (asked, named) => {
        expect(classOf(noMatch(`${named}.`), { spec: asked })).toBe(
          asked === named ? 'npm_stale_metadata' : 'npm_broken_dependency',
        );
      }),
    );
  });

  it('does not survive the loss of any of its lines', () => {
    const lines = linesOf(STALE).slice(0, 2);
    for (const lost of [0, 1]) {
      expect(classOf(lines.filter((_, at) => at !== lost).join('\n'))).not.toBe('npm_stale_metadata');
    }
  });
});

describe('other evidence', () => {
  it.each([
    ['npm error code ENOTEMPTY\nnpm error path /home/user/.npm/_cacache/tmp/x', 217, 'npm_filesystem'],
    [
      'npm error code ENOTEMPTY\nnpm error path /c/_npx/5f59e6f373ecbf48/node_modules/x',
      217,
      'npm_filesystem',
    ],
    ['npm error code EACCES\nnpm error syscall connect', 1, 'npm_network'],
    ['npm error code E418', 1, 'npm_network'],
    ['npm error code CERT_HAS_EXPIRED', 1, 'npm_network'],
    ['npm error code ESOMETHINGNEW', 1, 'unexplained_exit'],
    ['npm error code ESTRICTALLOWSCRIPTS', 1, 'npm_scripts_blocked'],
    ['sh: 1: agent: not found\nand more', 127, 'unexplained_exit'],
    ['sh: 1: agent: not found', 1, 'unexplained_exit'],
    ['/bin/sh: agent: command not found', 127, 'npm_broken_tree'],
    ['sh: line 1: agent: command not found', 127, 'npm_broken_tree'],
    ['sh: Zeile 1: agent: Kommando nicht gefunden.', 127, 'npm_broken_tree'],
    ['sh: ligne 1: agent : commande introuvable', 127, 'npm_broken_tree'],
    ['sh: 行 1: agent: 未找到命令', 127, 'npm_broken_tree'],
    ['zsh:1: command not found: agent', 127, 'unexplained_exit'],
    ['sh: 0: cannot open agent: No such file', 127, 'unexplained_exit'],
    ['/srv/agent.sh: line 3: tool: command not found', 127, 'unexplained_exit'],
    ['env: ‘node’: No such file or directory', 127, 'unexplained_exit'],
    ['Error: Invalid package config /srv/app/package.json.', 1, 'unexplained_exit'],
  ] as const)('%j with exit code %i is %s', (text, code, expected) => {
    expect(classOf(text, { exit: { code, signal: null } })).toBe(expected);
  });

  it('gives a class for any text', () => {
    const word = fc.constantFrom(
      'npm error ',
      'npm warn ',
      'code ',
      'ETARGET',
      'E404',
      '\n',
      ' ',
      '\u001b[31m',
      SPEC,
      '.',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string()), { maxLength: 40 }), fc.integer(), (parts, code) => {
        expect(NpmFailureClass.options).toContain(classOf(parts.join(''), { exit: { code, signal: null } }));
      }),
    );
  });
});
