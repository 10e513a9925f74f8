/**
 * What is wrong with a package-lock.json: download addresses. They tie an install to the registry or mirror of whoever
 * wrote the lockfile; the integrity hashes pin the content without them.
 */
export function judgeLockfile(lockfile: string): string[] {
  return lockfile.split('\n').flatMap((line, index) => {
    const address = /"resolved": "(http[^"]*)"/.exec(line)?.[1];
    return address === undefined
      ? []
      : [
          `package-lock.json, line ${String(index + 1)}: names ${new URL(address).host}; run npm install with this ` +
            "checkout's .npmrc, which leaves such addresses out.",
        ];
  });
}
