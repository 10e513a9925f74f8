import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

/** A TypeScript example of a README, as the module it would be. */
interface ReadmeExample {
  /** Where the module would lie: beside its README, which decides what it can import. */
  readonly file: string;
  readonly text: string;
}

const FENCE = /^```ts\n([\s\S]*?)^```$/gm;

/** The TypeScript examples of a README, each padded so that its lines keep their numbers. */
function readmeExamples(readme: string, text: string): ReadmeExample[] {
  return [...text.matchAll(FENCE)].map((match, index) => {
    const linesBefore = text.slice(0, match.index).split('\n').length;
    return {
      file: join(dirname(readme), `readme-example-${String(index + 1)}.ts`),
      text: '\n'.repeat(linesBefore) + (match[1] ?? ''),
    };
  });
}

/** What the compiler says of the examples of these READMEs: `path:line: message`; empty when all compile. */
export function checkReadmeExamples(root: string, readmes: readonly string[]): string[] {
  const readmeOf = new Map<string, string>();
  const texts = new Map<string, string>();
  for (const readme of readmes) {
    for (const example of readmeExamples(readme, readFileSync(readme, 'utf8'))) {
      texts.set(example.file, example.text);
      readmeOf.set(example.file, readme);
    }
  }
  const options = compilerOptions(root);
  const host = ts.createCompilerHost(options);
  host.fileExists = (file) => texts.has(file) || ts.sys.fileExists(file);
  host.readFile = (file) => texts.get(file) ?? ts.sys.readFile(file);
  const program = ts.createProgram([...texts.keys()], options, host);
  return [...texts.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    return ts.getPreEmitDiagnostics(program, source).map((diagnostic) => {
      const line = source?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
      const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ');
      return `${relative(root, readmeOf.get(file) ?? file)}:${String(line + 1)}: ${message}`;
    });
  });
}

function compilerOptions(root: string): ts.CompilerOptions {
  const path = join(root, 'tsconfig.base.json');
  const source = ts.readJsonConfigFile(path, (file) => readFileSync(file, 'utf8'));
  const { options } = ts.parseJsonSourceFileConfigFileContent(source, ts.sys, root, undefined, path);
  // An example may show a value without using it.
  return { ...options, noUnusedLocals: false, noUnusedParameters: false };
}
