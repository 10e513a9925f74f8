import { describe, expect, it } from '@jest/globals';

import { parseTestTitles } from '../src/test-titles.ts';

/** The running and the idle titles of a source, each as `suite > title`. */
function read(source: string): { runs: string[]; idle: string[] } {
  const titles = parseTestTitles(source, 'some.test.ts');
  const joined = (runs: boolean): string[] =>
    titles.filter((title) => title.runs === runs).map((title) => title.path.join(' > '));
  return { runs: joined(true), idle: joined(false) };
}

describe('parseTestTitles', () => {
  it('gives every test its suites', () => {
    expect(
      read(
        `describe('a', () => { describe("b", function () { it(\`c\`, async () => {}); }); test('d', () => {}); });`,
      ),
    ).toEqual({ runs: ['a > b > c', 'a > d'], idle: ['a', 'a > b'] });
  });

  it('reads tables, written as calls and as templates', () => {
    const source = `
      it.each([[1], [2]])('call %i', () => {});
      it.each\`a\n\${1}\`('template $a', () => {});
      describe.each(['x'])('suite %s', () => { test.only.each([1])('inner', () => {}); });
      it.concurrent('side by side', async () => {});`;
    expect(read(source).runs).toEqual(['call %i', 'template $a', 'suite %s > inner', 'side by side']);
  });

  it('puts titles together from their parts', () => {
    expect(
      read("it(`a ${x} b`, f); it('c ' + 'd ' + y, f); describe(Thing.name, () => { it('e', f); });").runs,
    ).toEqual(['a ${…} b', 'c d y', 'Thing.name > e']);
  });

  it('takes skipped, failing and unwritten tests for idle', () => {
    const source = `
      it.skip('a', f); xit('b', f); xtest('c', f); test.todo('d'); it.failing('e', f); it.skip.each([1])('f', f);
      describe.skip('g', () => { it('h', f); describe('i', () => { it('j', f); }); });
      xdescribe('k', () => { it('l', f); });
      describe.skip.each([1])('m', () => { it('n', f); });`;
    expect(read(source)).toEqual({
      runs: [],
      idle: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'g > h', 'g > i', 'g > i > j', 'k', 'k > l', 'm', 'm > n'],
    });
  });

  it('counts tests that run on a condition', () => {
    const source = `
      import { it as check, xit as later } from '@jest/globals';
      const itOnLinux = linux ? it : it.skip;
      const off = it.skip;
      (docker ? it : it.skip)('a', f);
      itOnLinux('b', f);
      check('c', f);
      later('d', f);
      off('e', f);
      if (docker) { it('f', f); }
      (docker ? describe : describe.skip)('g', () => { it('h', f); });`;
    expect(read(source)).toEqual({ runs: ['a', 'b', 'c', 'f', 'g > h'], idle: ['d', 'e', 'g'] });
  });

  it('knows helpers by their names, and lets a suite without visible tests stand for them', () => {
    const source = `
      itWithDocker('a', f);
      describeExecutorRuntime('b', setup);
      describeWithDocker('c', () => { it('d', f); });
      describe.skip('e', sharedTests);
      testbed('not a test', f);
      iterate('nor this', f);`;
    expect(read(source)).toEqual({ runs: ['a', 'b', 'c > d'], idle: ['c', 'e'] });
  });

  it('is not misled by text, comments and other calls', () => {
    const source = `// it('in a comment', f)
      const text = "it('in a string', f)";
      thing.it('a method', f); it(); const it2 = it2; it2('cyclic', f);`;
    expect(read(source).runs).toEqual([]);
  });
});
