import { z } from 'zod';
import { AgentExit, AgentStartPhase } from '../errors/control-error.ts';

/** What npm, or the program it was to run, failed of. `none`: npm reported no failure. */
export const NpmFailureClass = z.enum([
  'npm_stale_metadata',
  'npm_release_policy',
  'npm_broken_dependency',
  'npm_not_found',
  'npm_network',
  'npm_auth',
  'npm_integrity',
  'npm_contention',
  'npm_broken_tree',
  'npm_filesystem',
  'npm_unsupported',
  'npm_invalid',
  'npm_scripts_blocked',
  'unexplained_exit',
  'none',
]);
export type NpmFailureClass = z.infer<typeof NpmFailureClass>;

/** Stands for the name of the directory in which npm has its copy of the package. */
const KEY = '<key>';

const ADVICE: Readonly<Record<NpmFailureClass, string>> = {
  npm_stale_metadata:
    'npm knows no such version of the agent’s package: check that the version is published, then try again.',
  npm_release_policy:
    'A release-date limit in the npm configuration (before, min-release-age) excludes this version: wait, or change the limit.',
  npm_broken_dependency:
    'A dependency of the agent’s package is missing from the registry or does not fit: choose another version of the agent.',
  npm_not_found:
    'The registry does not have the agent’s package, or not for you: check its name and the registry in the npm configuration.',
  npm_network:
    'The npm registry could not be reached or failed: check network, proxy and registry settings, then try again.',
  npm_auth:
    'The npm registry refused access: renew the credentials in the npm configuration, then try again.',
  npm_integrity:
    'What the registry sent does not match its checksum: try again, and if that fails look at the registry or the proxy before it.',
  npm_contention: 'Another npm was at work on the same package: try again once it is done.',
  npm_broken_tree: `The installed copy of the agent’s package is damaged: remove _npx/${KEY} from the npm cache where the agent runs, then try again.`,
  npm_filesystem:
    'npm could not write to its cache: check free space, and who owns the npm cache of the user that runs agents.',
  npm_unsupported: 'The agent’s package does not support this platform or this version of Node.js or npm.',
  npm_invalid: 'npm cannot run this package: its name is not valid, or it does not say which program to run.',
  npm_scripts_blocked:
    'npm blocked an install script that the agent’s package needs: allow its scripts in the npm configuration.',
  unexplained_exit:
    'The agent ended before it was ready, and npm gave no reason: look at the agent’s stderr; where that is empty, a script of the package failed while it was installed, or npm is told to be silent (loglevel).',
  none: 'npm reported no failure: look at the agent’s own error and its stderr; where npx cannot be run, or is not done in time, check that npm works and reaches its registry where the agent runs.',
};

/**
 * One line of what happened and what the user can do. A fixed text for each class, so nothing that npm wrote is in it; the key is
 * npm's for the package, see `RepairedRuntime`.
 */
export function npmFailureAdvice(stderrClass: NpmFailureClass, executionKey: string): string {
  return ADVICE[stderrClass].replace(KEY, executionKey);
}

/** The details of `agent_start_failed` and of `agent_timeout` for an agent that npm was to run. */
export const NpmStartFailure = z.object({
  phase: AgentStartPhase,
  exit: AgentExit.nullable(),
  stderrClass: NpmFailureClass,
  advice: z.string(),
});
export type NpmStartFailure = z.infer<typeof NpmStartFailure>;
