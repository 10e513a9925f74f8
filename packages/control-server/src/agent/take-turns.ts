/** So much of what one agent says is taken in a row. */
export const IN_A_ROW = 16;

/**
 * Makes room between the messages of one agent: after some in a row it resolves only when requests, timers and the other agents
 * have had their turn. Without it a flooding agent holds all of them up for as long as there is something in its pipe.
 */
export function turnTaker(): () => Promise<void> | undefined {
  let taken = 0;
  return () => {
    taken += 1;
    if (taken % IN_A_ROW !== 0) return undefined;
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  };
}
