/** A turn that has not ended. `dispatching`: the prompt is on its way; `running`: a control server accepted it. */
export const OPEN_TURN_STATES = ['dispatching', 'running'] as const;
export type OpenTurnState = (typeof OPEN_TURN_STATES)[number];

/** A turn that has ended; it never changes again. `abandoned`: its agent was gone before an outcome was seen. */
export const TERMINAL_TURN_STATES = ['completed', 'cancelled', 'failed', 'abandoned'] as const;
export type TerminalTurnState = (typeof TERMINAL_TURN_STATES)[number];

export type TurnState = OpenTurnState | TerminalTurnState;

/** The terminal states that an outcome can lead to. */
export type OutcomeTurnState = Exclude<TerminalTurnState, 'abandoned'>;
