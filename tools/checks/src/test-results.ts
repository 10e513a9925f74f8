import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { failureText } from './failure-text.ts';
import { isRecord } from './is-record.ts';

/** What the tests of one workspace came to. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

/** One failure. */
export interface Failure {
  /** One line: the file and the test, or the file and why it did not run. */
  readonly name: string;
  /** What was said of it, line by line; see `failureText`. */
  readonly text: readonly string[];
}

/** How a test command ended: its exit code, or the signal that ended it. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The verdict over all workspaces. */
export interface TestReport {
  /** What to print before the closing line: what was said of the failures, then their names. */
  readonly remarks: readonly string[];
  readonly closingLine: string;
  readonly exitCode: number;
}

// A log is often read from its end only: however much failed, all the names are to be there.
const MOST_LINES_OF_TEXTS = 600;

/**
 * Reads what jest wrote with `--json`. Tests are counted one by one, and a file that failed without a failing test (it
 * did not load, or its clean-up threw) counts as one failure. Throws on anything that is not such a report.
 *
 * @param root the folder from which failing files are named.
 */
export function parseTestResults(json: string, root: string): TestCounts {
  const results: unknown = JSON.parse(json);
  const files = isRecord(results) ? results['testResults'] : undefined;
  if (!Array.isArray(files)) throw new TypeError('this is no report of jest: it has no testResults');

  const failures: Failure[] = [];
  let passed = 0;
  let skipped = 0;
  for (const file of files.filter((entry) => isRecord(entry))) {
    const fileName = relative(root, String(file['name']));
    const tests = Array.isArray(file['assertionResults']) ? file['assertionResults'] : [];
    const failuresBefore = failures.length;
    for (const test of tests.filter((entry) => isRecord(entry))) {
      if (test['status'] === 'passed') passed += 1;
      else if (test['status'] === 'failed')
        failures.push({
          name: `${fileName} > ${String(test['fullName'])}`,
          text: failureText(textsOf(test['failureMessages']), root),
        });
      else skipped += 1;
    }
    if (file['status'] === 'failed' && failures.length === failuresBefore) {
      failures.push({
        name: `${fileName}: ${firstLine(file['message'])}`,
        text: failureText(textsOf([file['message']]), root),
      });
    }
  }
  return { passed, failed: failures.length, skipped, failures };
}

/**
 * Adds up the workspaces. A workspace without results counts as one failure: its tests were asked for and did not
 * report.
 *
 * @param countsByWorkspace by the workspace's name; undefined where no readable results were found.
 * @param ending how the command that ran them all ended; its exit code is kept.
 */
export function reportTests(
  countsByWorkspace: ReadonlyMap<string, TestCounts | undefined>,
  ending: Ending,
): TestReport {
  const counts = [...countsByWorkspace].map(
    ([workspace, found]): TestCounts =>
      found ?? {
        passed: 0,
        failed: 1,
        skipped: 0,
        failures: [{ name: `${workspace}: its tests left no readable results`, text: [] }],
      },
  );
  const sum = (of: (count: TestCounts) => number): number =>
    counts.reduce((total, count) => total + of(count), 0);
  const passed = sum((count) => count.passed);
  const failed = sum((count) => count.failed);
  const skipped = sum((count) => count.skipped);

  const failures = counts.flatMap((count) => count.failures);
  const remarks = [...textsOfFailures(failures)];
  if (failures.length > 0) remarks.push('Failed:', ...failures.map(({ name }) => `  ${name}`));
  if (passed + failed === 0) remarks.push('No test ran.');
  if (failed === 0 && ending.code !== 0) {
    remarks.push(`The test run ended with ${describeEnding(ending)}, though no test failed: see above.`);
  }
  return {
    remarks,
    closingLine: `${String(passed)} passed, ${String(failed)} failed, ${String(skipped)} skipped`,
    exitCode: ending.code === 0 ? Number(failed > 0 || passed === 0) : (ending.code ?? 1),
  };
}

/** What was said of each failure that anything was said of, as far as there is room. */
function textsOfFailures(failures: readonly Failure[]): readonly string[] {
  const lines: string[] = [];
  for (const { name, text } of failures.filter((failure) => failure.text.length > 0)) {
    const more = [name, ...text.map((line) => `    ${line}`.trimEnd()), ''];
    if (lines.length + more.length > MOST_LINES_OF_TEXTS) return [...lines, 'More failed; see above.', ''];
    lines.push(...more);
  }
  return lines;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function describeEnding({ code, signal }: Ending): string {
  return code === null ? `signal ${String(signal)}` : `exit code ${String(code)}`;
}

function firstLine(message: unknown): string {
  const lines =
    typeof message === 'string'
      ? stripVTControlCharacters(message)
          .split('\n')
          .map((line) => line.trim())
      : [];
  return lines.find((line) => line !== '' && !line.startsWith('●')) ?? 'the file did not run';
}
