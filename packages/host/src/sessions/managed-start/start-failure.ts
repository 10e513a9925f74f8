import {
  AgentStartPhase,
  ControlError,
  NpmStartFailure,
  type NpmFailureClass,
} from '@holdfast/control-protocol';

/** What the error of a start says beyond its sentence, for people and programs. */
export interface StartFailure {
  /** Where in its start the agent failed; null when it got no chance to. */
  readonly phase: AgentStartPhase | null;
  /** What npm failed of; null for an agent that npm does not run. */
  readonly stderrClass: NpmFailureClass | null;
  /** One line of what the user can do; null where the error itself says all there is. */
  readonly advice: string | null;
  /** Whether the same start may succeed although nobody has changed anything. */
  readonly retryable: boolean;
}

const RETRYABLE: Readonly<Record<NpmFailureClass, boolean>> = {
  // A registry behind a mirror may learn of a version late.
  npm_stale_metadata: true,
  npm_release_policy: false,
  npm_broken_dependency: false,
  npm_not_found: false,
  npm_network: true,
  npm_auth: false,
  npm_integrity: true,
  npm_contention: true,
  npm_broken_tree: false,
  npm_filesystem: false,
  npm_unsupported: false,
  npm_invalid: false,
  npm_scripts_blocked: false,
  unexplained_exit: true,
  none: true,
};

/** Reads the error of a start that failed. */
export function startFailureOf({ details }: ControlError): StartFailure {
  const npm = NpmStartFailure.safeParse(details);
  if (npm.success) {
    const { phase, stderrClass, advice } = npm.data;
    return { phase, stderrClass, advice, retryable: RETRYABLE[stderrClass] };
  }
  const phase = AgentStartPhase.safeParse(details?.['phase']);
  return { phase: phase.success ? phase.data : null, stderrClass: null, advice: null, retryable: true };
}

/** Whether npm's metadata hid the version, and no agent ever answered (RUNTIME-001.1). */
export function isStaleMetadata(error: unknown): boolean {
  if (!(error instanceof ControlError) || error.code !== 'agent_start_failed') return false;
  const { phase, stderrClass } = startFailureOf(error);
  return phase === 'initialize' && stderrClass === 'npm_stale_metadata';
}
