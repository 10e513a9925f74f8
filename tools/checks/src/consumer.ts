import { entriesOf } from './exports.ts';
import type { Manifest } from './workspace.ts';

/** Everything that a user may import of a package, as code; package.json is data. */
export function importableSpecifiers(manifest: Manifest): string[] {
  return entriesOf(manifest)
    .map((entry) => entry.specifier)
    .filter((specifier) => !specifier.endsWith('/package.json'));
}

/** A TypeScript module that imports all of them and uses each, for the compiler to check as a user's would be. */
export function consumerSource(specifiers: readonly string[]): string {
  const imports = specifiers.map(
    (specifier, index) => `import * as package${String(index)} from '${specifier}';\n`,
  );
  const names = specifiers.map((_specifier, index) => `package${String(index)}`);
  return `${imports.join('')}export const all = [${names.join(', ')}];\n`;
}

/** The tsconfig.json of a strict user. `typeRoots` holds `@types/node`. */
export function consumerConfig(typeRoots: string): string {
  return JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // The declaration files are what is being checked here.
      skipLibCheck: false,
      types: ['node'],
      typeRoots: [typeRoots],
    },
    files: ['consumer.ts'],
  });
}

/** The findings of `tsc` that are ours: those in the user's own file or in our packages, not in other libraries. */
export function ourFindings(tscOutput: string): string[] {
  return tscOutput
    .split('\n')
    .filter((line) => line.includes('error TS'))
    .filter((line) => !line.includes('node_modules/') || line.includes('node_modules/@holdfast/'));
}
