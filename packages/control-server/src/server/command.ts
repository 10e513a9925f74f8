import { join } from 'node:path';
import { packageRoot } from './package-root.ts';

/** The command that starts a control server as a process of its own; its arguments follow. It works from source as well. */
export function controlServerCommand(): string[] {
  const isSource = import.meta.url.endsWith('.ts');
  return isSource
    ? [process.execPath, '--conditions=@holdfast/source', join(packageRoot(), 'src', 'bin', 'cli.ts')]
    : [process.execPath, join(packageRoot(), 'dist', 'bin', 'cli.js')];
}
