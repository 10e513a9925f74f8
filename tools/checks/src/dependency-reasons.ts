import type { Manifest, Workspace } from './workspace.ts';

/**
 * What is wrong with docs/dependencies.md: every outside dependency of a workspace has a row there, which begins with
 * its name in backticks (several names may share one) and has no empty cell, and no row outlives its dependency.
 */
export function judgeDependencyReasons(
  markdown: string,
  root: Manifest,
  workspaces: readonly Workspace[],
): string[] {
  const problems: string[] = [];
  const explained = new Set<string>();
  for (const [index, line] of markdown.split('\n').entries()) {
    const cells = /^\|(.*)\|$/
      .exec(line.trim())?.[1]
      ?.split('|')
      .map((cell) => cell.trim());
    const names = cells === undefined ? [] : namesIn(cells[0] ?? '');
    if (names.length > 0 && (cells?.length === 1 || cells?.includes('') === true)) {
      problems.push(
        `docs/dependencies.md, line ${String(index + 1)}: a row needs a reason, and no empty cell.`,
      );
    }
    for (const name of names) {
      if (explained.has(name)) problems.push(`docs/dependencies.md: ${name} has two rows.`);
      explained.add(name);
    }
  }

  const siblings = new Set(workspaces.map((workspace) => workspace.manifest.name));
  for (const { folder, manifest } of workspaces) {
    for (const name of shippedBy(manifest)) {
      if (!siblings.has(name) && !explained.has(name)) {
        problems.push(`${folder}: depends on ${name}, and docs/dependencies.md has no row that says why.`);
      }
    }
  }
  const declared = new Set(
    [root, ...workspaces.map((workspace) => workspace.manifest)].flatMap((manifest) => [
      ...shippedBy(manifest),
      ...Object.keys(manifest.devDependencies),
    ]),
  );
  for (const name of explained) {
    if (!declared.has(name)) problems.push(`docs/dependencies.md: nothing depends on ${name} any more.`);
  }
  return problems;
}

/** The names of a first cell such as `a` or `a`, `b`; none when it holds anything else. */
function namesIn(cell: string): string[] {
  const names = cell.split(', ').map((part) => /^`([^`]+)`$/.exec(part)?.[1]);
  return names.every((name) => name !== undefined) ? names : [];
}

function shippedBy(manifest: Manifest): string[] {
  return [manifest.dependencies, manifest.optionalDependencies, manifest.peerDependencies].flatMap((group) =>
    Object.keys(group),
  );
}
