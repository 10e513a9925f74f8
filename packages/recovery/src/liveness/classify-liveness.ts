import type { ProcessEvidence } from '@holdfast/executor-contract';

/** Whether the process that a row claims is there. `unknown` leads to no repair, no kill and no second launch. */
export type Liveness = 'alive' | 'gone' | 'unknown';

/** What the enumeration of a control server says about a row's own instance. `unanswered`: it could not be had. */
export type Presence = 'present' | 'absent' | 'unanswered';

/** What is known about a row when its liveness is asked for. The set is closed, and each row is in exactly one (SURVIVAL-003.6). */
export type LivenessSituation =
  /** Agents do not outlive their backend. */
  | { readonly kind: 'survival_off'; readonly process: ProcessEvidence['process'] }
  /** This backend launched it, on the server in use. */
  | { readonly kind: 'own'; readonly presence: Presence }
  /** Inherited, and recovery has not come to its outcome yet. */
  | { readonly kind: 'recovering' }
  /** Inherited, and the stop of its instance is under way. */
  | { readonly kind: 'stop_in_flight' }
  /** Inherited, and its control server was adopted. */
  | { readonly kind: 'adopted'; readonly presence: Presence }
  /** Inherited, and a server answered that was not adopted. */
  | { readonly kind: 'not_adopted' }
  /** Inherited, and nothing answers where its server was, or nothing is on record. */
  | { readonly kind: 'no_server'; readonly process: ProcessEvidence['process'] };

const BY_PROCESS: { readonly [P in ProcessEvidence['process']]: Liveness } = {
  running: 'alive',
  ended: 'gone',
  unknown: 'unknown',
};

const BY_PRESENCE: { readonly [P in Presence]: Liveness } = {
  present: 'alive',
  absent: 'gone',
  unanswered: 'unknown',
};

/** The liveness of a row in a situation: total, and nothing but the situation counts. */
export function classifyLiveness(situation: LivenessSituation): Liveness {
  switch (situation.kind) {
    case 'survival_off':
    case 'no_server':
      return BY_PROCESS[situation.process];
    case 'own':
    case 'adopted':
      return BY_PRESENCE[situation.presence];
    case 'recovering':
    case 'stop_in_flight':
    case 'not_adopted':
      return 'unknown';
  }
}

const PRESENCE_TOLD: { readonly [P in Presence]: string } = {
  present: 'its instance is on its control server',
  absent: 'its control server has no such instance',
  unanswered: 'its control server does not say which instances it has',
};

/** The situation in a few words for a person; `detail` is what the process probe saw. */
export function describeSituation(situation: LivenessSituation, detail: string): string {
  switch (situation.kind) {
    case 'survival_off':
    case 'no_server':
      return detail;
    case 'own':
    case 'adopted':
      return PRESENCE_TOLD[situation.presence];
    case 'recovering':
      return 'its recovery is under way';
    case 'stop_in_flight':
      return 'the stop of its instance is under way';
    case 'not_adopted':
      return 'the control server that it was on may be there, and is not driven from here';
  }
}
