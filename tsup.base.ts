import { defineConfig, type Options } from 'tsup';

/** The build of every library package: ESM only, one d.ts per entry. */
export function library(overrides: Options = {}): ReturnType<typeof defineConfig> {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm'],
    platform: 'node',
    target: 'node22.18',
    tsconfig: 'tsconfig.json',
    outDir: 'dist',
    clean: true,
    dts: false, // tsc (TypeScript 7) writes the d.ts files: a sixth of the time
    sourcemap: true,
    splitting: true,
    treeshake: false,
    minify: false,
    ...overrides,
  });
}
