import ts from 'typescript';

/** A title found in a test file. */
export interface TestTitle {
  /** The titles of the enclosing suites, outermost first, and the title itself. */
  readonly path: readonly string[];
  /** Whether a test of this title can run: false for skipped ones, for `todo` and `failing`, and for a suite as such. */
  readonly runs: boolean;
}

/** What a callee defines when it is called with a title. */
interface Definer {
  readonly kind: 'test' | 'suite';
  readonly runs: boolean;
}

const DEFINERS: ReadonlyMap<string, Definer> = new Map([
  ['it', { kind: 'test', runs: true }],
  ['test', { kind: 'test', runs: true }],
  ['fit', { kind: 'test', runs: true }],
  ['xit', { kind: 'test', runs: false }],
  ['xtest', { kind: 'test', runs: false }],
  ['describe', { kind: 'suite', runs: true }],
  ['fdescribe', { kind: 'suite', runs: true }],
  ['xdescribe', { kind: 'suite', runs: false }],
]);
const RUNNING_MEMBERS: ReadonlySet<string> = new Set(['each', 'only', 'concurrent']);
const IDLE_MEMBERS: ReadonlySet<string> = new Set(['skip', 'todo', 'failing']);

/**
 * The test titles of one TypeScript source, in the order of the text. Aliases (`const itOnLinux = linux ? it : it.skip`)
 * and functions named like `itWithDocker` or `describeExecutorRuntime` define tests too; a test that runs on a
 * condition counts as one that runs. A suite whose tests are not in the file stands for them itself.
 */
export function parseTestTitles(source: string, fileName: string): TestTitle[] {
  const file = ts.createSourceFile(fileName, source, ts.ScriptTarget.ESNext, true);
  const aliases = aliasesIn(file);
  const found: TestTitle[] = [];

  const visit = (node: ts.Node, suites: readonly string[], suitesRun: boolean): void => {
    const definer = ts.isCallExpression(node) ? definerOf(node.expression, aliases) : undefined;
    const titleNode = ts.isCallExpression(node) ? node.arguments[0] : undefined;
    if (!ts.isCallExpression(node) || definer === undefined || titleNode === undefined) {
      ts.forEachChild(node, (child) => {
        visit(child, suites, suitesRun);
      });
      return;
    }
    const path = [...suites, titleText(titleNode)];
    const runs = suitesRun && definer.runs;
    const body = node.arguments.find(
      (argument) => ts.isArrowFunction(argument) || ts.isFunctionExpression(argument),
    );
    if (definer.kind === 'suite' && body !== undefined) {
      found.push({ path, runs: false });
      visit(body, path, runs);
    } else {
      found.push({ path, runs });
    }
  };
  visit(file, [], true);
  return found;
}

/** What each name of the file stands for: the initialisers of its variables, and what an import renamed. */
function aliasesIn(file: ts.SourceFile): ReadonlyMap<string, ts.Expression> {
  const aliases = new Map<string, ts.Expression>();
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer !== undefined) {
      aliases.set(node.name.text, node.initializer);
    }
    if (ts.isImportSpecifier(node) && node.propertyName !== undefined && ts.isIdentifier(node.propertyName)) {
      aliases.set(node.name.text, node.propertyName);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return aliases;
}

function definerOf(callee: ts.Expression, aliases: ReadonlyMap<string, ts.Expression>): Definer | undefined {
  if (ts.isParenthesizedExpression(callee)) return definerOf(callee.expression, aliases);
  if (ts.isIdentifier(callee)) {
    const alias = aliases.get(callee.text);
    if (alias === undefined) return DEFINERS.get(callee.text) ?? definerByName(callee.text);
    const others = new Map(aliases);
    others.delete(callee.text);
    return definerOf(alias, others) ?? definerByName(callee.text);
  }
  if (ts.isConditionalExpression(callee)) {
    const branches = [callee.whenTrue, callee.whenFalse]
      .map((branch) => definerOf(branch, aliases))
      .filter((branch) => branch !== undefined);
    return branches.find((branch) => branch.runs) ?? branches[0];
  }
  if (ts.isPropertyAccessExpression(callee)) {
    const base = definerOf(callee.expression, aliases);
    if (base === undefined || RUNNING_MEMBERS.has(callee.name.text)) return base;
    return IDLE_MEMBERS.has(callee.name.text) ? { ...base, runs: false } : undefined;
  }
  // it.each(table)('title', …) and it.each`table`('title', …): the callee is itself a call.
  if (ts.isCallExpression(callee)) return definerOf(callee.expression, aliases);
  if (ts.isTaggedTemplateExpression(callee)) return definerOf(callee.tag, aliases);
  return undefined;
}

/** Helpers that define tests are named after what they define. */
function definerByName(name: string): Definer | undefined {
  if (/^(?:it|test)[A-Z]/.test(name)) return { kind: 'test', runs: true };
  if (/^describe[A-Z]/.test(name)) return { kind: 'suite', runs: true };
  return undefined;
}

function titleText(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map((span) => `\${…}${span.literal.text}`).join('');
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return titleText(node.left) + titleText(node.right);
  }
  return node.getText();
}
