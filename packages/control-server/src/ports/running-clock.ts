import type { Clock } from './clock.ts';

/** Time in which this process ran, in monotonic milliseconds, and the machine's time when that was last looked at. */
export interface RunningTime {
  readonly passedMs: number;
  readonly lookedAt: number;
}

/** A running process looks at the machine's time at least this often. */
export const LOOK_EVERY_MS = 2000;

/** The most that passes between two looks; of a longer step the rest is time in which the process did not run. */
export const LONGEST_STEP_MS = 5000;

/** The time after a look at the machine's; `stoodStillMs` is what of the step does not count. */
export function lookAtTime(
  time: RunningTime,
  machineNow: number,
): { readonly time: RunningTime; readonly stoodStillMs: number } {
  const stepMs = Math.max(0, machineNow - time.lookedAt);
  const countedMs = Math.min(stepMs, LONGEST_STEP_MS);
  return {
    time: { passedMs: time.passedMs + countedMs, lookedAt: machineNow },
    stoodStillMs: stepMs - countedMs,
  };
}

/** A clock that stands still while its process does. */
export interface RunningClock extends Clock {
  /** Ends the looks. */
  readonly stop: () => void;
}

/**
 * Starts a clock on which only the time counts in which this process ran: not the sleep of the machine, and not the time in which
 * the process was stopped or did not get to its events. Its timers keep to it as well.
 */
export function startRunningClock(machine: Clock, onStoodStill: (ms: number) => void): RunningClock {
  let time: RunningTime = { passedMs: 0, lookedAt: machine.now() };
  const now = (): number => {
    const look = lookAtTime(time, machine.now());
    time = look.time;
    if (look.stoodStillMs > 0) onStoodStill(look.stoodStillMs);
    return time.passedMs;
  };
  const lookAgain = (): void => {
    now();
    cancelLook = machine.setTimer(LOOK_EVERY_MS, lookAgain);
  };
  let cancelLook = machine.setTimer(LOOK_EVERY_MS, lookAgain);
  return {
    now,
    wall: () => machine.wall(),
    setTimer: (delayMs, action) => {
      const dueAt = now() + delayMs;
      let cancel: () => void;
      const arm = (restMs: number): void => {
        cancel = machine.setTimer(restMs, () => {
          const leftMs = dueAt - now();
          if (leftMs > 0) arm(leftMs);
          else action();
        });
      };
      arm(delayMs);
      return () => {
        cancel();
      };
    },
    stop: () => {
      cancelLook();
    },
  };
}
