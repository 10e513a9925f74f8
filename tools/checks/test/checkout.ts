import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The checkout that these tests belong to. */
export const OURS = join(import.meta.dirname, '../../..');

/** A small checkout of its own in a temporary folder. */
export interface Checkout {
  readonly root: string;
  readonly write: (path: string, content: string | object) => void;
  readonly remove: () => void;
}

/**
 * Makes a checkout from files by path; objects are written as JSON.
 *
 * @param tools whether it gets this checkout's installed tools as its node_modules.
 */
export function makeCheckout(
  files: Readonly<Record<string, string | object>>,
  tools: 'with tools' | 'bare',
): Checkout {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-checkout-'));
  const write = (path: string, content: string | object): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), typeof content === 'string' ? content : JSON.stringify(content));
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  if (tools === 'with tools') symlinkSync(join(OURS, 'node_modules'), join(root, 'node_modules'));
  return {
    root,
    write,
    remove: () => {
      rmSync(root, { recursive: true });
    },
  };
}
