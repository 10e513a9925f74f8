import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { runProgram, testHome, type TestHome } from '@holdfast/testbeds';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const ROOT = path('../../../../');

/** The files of the folder that do not compile, each with the codes of its errors. */
async function whatDoesNotCompile(home: TestHome, folder: string): Promise<Record<string, string[]>> {
  const config = {
    extends: `${ROOT}tsconfig.base.json`,
    compilerOptions: { typeRoots: [`${ROOT}node_modules/@types`] },
    include: [folder],
  };
  await writeFile(home.path('tsconfig.json'), JSON.stringify(config));
  await writeFile(home.path('package.json'), '{"type":"module"}');
  const { stdout } = await runProgram(
    [process.execPath, `${ROOT}node_modules/.bin/tsc`, '-p', 'tsconfig.json', '--pretty', 'false'],
    { cwd: home.root, env: { NODE_OPTIONS: undefined }, timeoutMs: 60_000 },
  );
  const found: Record<string, string[]> = {};
  for (const [, file = '', code = ''] of stdout.matchAll(
    /^(?:.*\/)?([\w-]+\.ts)\(\d+,\d+\): error (TS\d+)/gm,
  )) {
    (found[file] ??= []).push(code);
  }
  if (stdout !== '' && Object.keys(found).length === 0) throw new Error(`tsc did not run:\n${stdout}`);
  return found;
}

/** Sites that publish an event, by the name of their file. */
const SITES = {
  'covered.ts': `journal.publish({ type: 'turn_started', turnId: 't', promptGeneration: 1 })`,
  'covered-from-agent.ts': `listener.publish({ type: 'session_config', options: [] })`,
  'excluded.ts': `journal.publishLossy({ type: 'mcp_attachment_evidence', serverName: 's', evidence: 'e' })`,
  'neither.ts': `journal.publish({ type: 'weather_report', promptGeneration: 1 })`,
  'neither-lossy.ts': `journal.publishLossy({ type: 'weather_report', serverName: 's' })`,
  'neither-from-agent.ts': `listener.publish({ type: 'weather_report' })`,
  'covered-as-excluded.ts': `journal.publishLossy({ type: 'session_update', update: {} })`,
  'covered-as-excluded-from-agent.ts': `listener.publishLossy({ type: 'context_window', size: 1, used: 1 })`,
  'excluded-as-covered.ts': `journal.publish({ type: 'mcp_attachment_evidence', serverName: 's', evidence: 'e' })`,
};

describe('an event class', () => {
  it('that is neither covered nor excluded cannot be published, nor one in the other’s way [CONTRACT-11]', async () => {
    await using home = await testHome('event-classes');
    await home.folder('sites');
    for (const [file, site] of Object.entries(SITES)) {
      await writeFile(
        home.path('sites', file),
        `import type { AgentListener } from '${path('../../src/agent/agent-listener.ts')}';\n` +
          `import type { Journal } from '${path('../../src/journal/journal.ts')}';\n` +
          `export const site = (journal: Journal, listener: AgentListener): unknown => [journal, listener, ${site}];\n`,
      );
    }
    expect(await whatDoesNotCompile(home, 'sites')).toEqual({
      'neither.ts': ['TS2322'],
      'neither-lossy.ts': ['TS2322'],
      'neither-from-agent.ts': ['TS2322'],
      'covered-as-excluded.ts': ['TS2322'],
      'covered-as-excluded-from-agent.ts': ['TS2322'],
      'excluded-as-covered.ts': ['TS2322'],
    });
  });

  it.each([
    ['without a row', '', 'TS2741'],
    ['with a row that says neither', `weather_report: 'perhaps',`, 'TS2322'],
    ['with one row', `weather_report: 'covered',`, undefined],
    ['with two rows', `weather_report: 'covered', weather_report: 'excluded',`, 'TS1117'],
  ])('that is new and stands in the table %s [CONTRACT-11]', async (_name, row, error) => {
    await using home = await testHome('event-classes');
    await cp(path('../../../control-protocol/src'), home.path('protocol'), { recursive: true });
    await symlink(`${ROOT}node_modules`, home.path('node_modules'));
    const change = async (file: string, what: string, by: string): Promise<void> => {
      const text = await readFile(home.path('protocol', 'events', file), 'utf8');
      expect(text).toContain(what);
      await writeFile(home.path('protocol', 'events', file), text.replace(what, by));
    };
    const first = '/** One ACP session update,';
    await change('event.ts', first, `z.object({ type: z.literal('weather_report') }),\n${first}`);
    await change('table.ts', `session_update: 'covered',`, `session_update: 'covered', ${row}`);
    const found = await whatDoesNotCompile(home, 'protocol/events');
    expect(Object.keys(found)).toEqual(error === undefined ? [] : ['table.ts']);
    expect(found['table.ts']?.[0]).toBe(error);
  });
});
