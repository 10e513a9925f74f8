import type { NpmPreference } from '@holdfast/control-protocol';
import {
  PREFERENCES,
  planStart,
  type EndedStart,
  type RepairAbility,
  type StartEvent,
  type StartState,
} from './start-plan.ts';

/** What a start is carried out with. The steps reject with what went wrong. */
export interface StartPorts<Started> {
  readonly ability: RepairAbility;
  readonly start: (preference: NpmPreference) => Promise<Started>;
  /** Resolves when nothing is left of the child that failed. */
  readonly stop: () => Promise<void>;
  readonly repair: (packageSpec: string) => Promise<{ readonly removed: boolean }>;
  /** Whether a start failed of stale metadata. */
  readonly isStale: (failure: unknown) => boolean;
  /** The code of a failed stop or repair. */
  readonly codeOf: (error: unknown) => string;
}

/**
 * Carries a start out, with its one retry. The signal is looked at before every step: once it has aborted nothing more is
 * started, and the call rejects with its reason (RUNTIME-002.5).
 */
export async function runStart<Started>(
  ports: StartPorts<Started>,
  signal: AbortSignal,
): Promise<EndedStart<Started>> {
  let state: StartState<Started> = { at: 'starting' };
  while (state.at !== 'ready' && state.at !== 'failed') {
    signal.throwIfAborted();
    state = planStart(state, await takeStep(state, ports), ports.ability);
  }
  // What was started may be ready in the very moment in which it was given up.
  signal.throwIfAborted();
  return state;
}

async function takeStep<Started>(
  state: Exclude<StartState<Started>, EndedStart<Started>>,
  ports: StartPorts<Started>,
): Promise<StartEvent<Started>> {
  switch (state.at) {
    case 'starting':
    case 'starting_again':
      return await tryStart(ports, PREFERENCES[state.at]);
    case 'stopping':
      return await tryRepair(ports, async () => {
        await ports.stop();
        return { type: 'stopped' };
      });
    case 'repairing':
      return await tryRepair(ports, async () => {
        const { removed } = await ports.repair(state.packageSpec);
        return { type: 'repaired', removed };
      });
  }
}

async function tryRepair<Started>(
  { codeOf }: StartPorts<Started>,
  step: () => Promise<StartEvent<Started>>,
): Promise<StartEvent<Started>> {
  try {
    return await step();
  } catch (error) {
    return { type: 'not_repaired', code: codeOf(error) };
  }
}

async function tryStart<Started>(
  { start, isStale }: StartPorts<Started>,
  preference: NpmPreference,
): Promise<StartEvent<Started>> {
  try {
    return { type: 'started', started: await start(preference) };
  } catch (failure) {
    return { type: 'start_failed', failure, stale: isStale(failure) };
  }
}
