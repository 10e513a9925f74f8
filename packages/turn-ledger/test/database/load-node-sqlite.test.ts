import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
import { runProgram } from '@holdfast/testbeds';

const LOAD = `
  import { loadNodeSqlite } from '@holdfast/turn-ledger/node-sqlite';
  const { DatabaseSync } = loadNodeSqlite();
  new DatabaseSync(':memory:').close();
  process.emitWarning('SQLite is an experimental idea of mine', 'ExperimentalWarning');
`;

describe('loading node:sqlite', () => {
  it('is silent, and later warnings are printed as ever', async () => {
    const program = [
      process.execPath,
      '--conditions=@holdfast/source',
      '--input-type=module',
      '--eval',
      LOAD,
    ];
    const { exitCode, stderr } = await runProgram(program, {
      timeoutMs: 60_000,
      cwd: import.meta.dirname,
      env: { NODE_OPTIONS: undefined },
    });
    expect(exitCode).toBe(0);
    expect(stderr.match(/ExperimentalWarning/g)).toHaveLength(1);
    expect(stderr).toContain('SQLite is an experimental idea of mine');
  });

  it('says clearly that a Node has none', async () => {
    const program = [
      process.execPath,
      '--no-experimental-sqlite',
      '--conditions=@holdfast/source',
      '--input-type=module',
      '--eval',
      LOAD,
    ];
    const { exitCode, stderr } = await runProgram(program, {
      timeoutMs: 60_000,
      cwd: import.meta.dirname,
      env: { NODE_OPTIONS: undefined },
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('NodeSqliteMissingError');
    expect(stderr).toContain(`Node ${process.version} was started without its SQLite module`);
  });

  describe('on a Node that warns about it', () => {
    // oxlint-disable-next-line typescript/unbound-method -- put back as they were
    const { emitWarning, getBuiltinModule } = process;
    const printed: unknown[][] = [];
    beforeEach(() => {
      process.emitWarning = (...warning: unknown[]) => {
        printed.push(warning);
      };
      process.getBuiltinModule = (id: string) => {
        process.emitWarning(
          'SQLite is an experimental feature and might change at any time',
          'ExperimentalWarning',
        );
        process.emitWarning('SQLite is an experimental feature and might change', {
          type: 'ExperimentalWarning',
        });
        process.emitWarning('SQLite is an experimental feature', 'DeprecationWarning');
        process.emitWarning('Something else is experimental', 'ExperimentalWarning');
        return getBuiltinModule(id);
      };
    });
    afterEach(() => {
      process.emitWarning = emitWarning;
      process.getBuiltinModule = getBuiltinModule;
    });

    it('drops that warning only', () => {
      loadNodeSqlite();
      expect(printed).toEqual([
        ['SQLite is an experimental feature', 'DeprecationWarning'],
        ['Something else is experimental', 'ExperimentalWarning'],
      ]);
    });
  });
});
