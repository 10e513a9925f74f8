/** What the exit code of the command says. */
export const EXIT_CODES = {
  /** It was asked to stop. */
  stopped: 0,
  /** Arguments, settings or the home directory are not accepted; stderr says what, the value and what is accepted. */
  notAccepted: 2,
  cannotListen: 3,
  /** Nobody owned it for the unowned period. */
  unowned: 4,
  cannotLog: 5,
  internal: 70,
} as const;
