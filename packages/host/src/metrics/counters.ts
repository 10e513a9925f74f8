import { OUTCOME_EFFECTS, type RecoveryReport, type RowOutcome } from '@holdfast/recovery';
import type { HostEvent, HostEventListener } from '../host-events.ts';
import { counter, type CountAttributes, type Counter, type MeterProvider } from './meter.ts';

type EventNamed<Name extends HostEvent['name']> = Extract<HostEvent, { readonly name: Name }>;

/** How an event is counted. */
interface Counted<Event> {
  readonly counter: `holdfast.${string}`;
  readonly description: string;
  /** Scopes and closed sets of words only; ids and texts would make a series each. */
  readonly attributes: (event: Event) => CountAttributes;
}

/** Which events are counted, and how; `null`: told to listeners and not counted. An event without a row does not compile. */
export const EVENT_COUNTERS: { readonly [Name in HostEvent['name']]: Counted<EventNamed<Name>> | null } = {
  'adoption.attempted': {
    counter: 'holdfast.adoption.attempted',
    description: 'Attempts to adopt the control server on record.',
    attributes: ofScope,
  },
  'adoption.adopted': {
    counter: 'holdfast.adoption.adopted',
    description: 'Control servers adopted.',
    attributes: ofScope,
  },
  'adoption.refused': {
    counter: 'holdfast.adoption.refused',
    description: 'Adoptions refused, by the first reason that applied.',
    attributes: ({ scope, reason }) => ({ ...ofScope({ scope }), reason }),
  },
  'adoption.shutting_down': null,
  'adoption.unowned_shutdown': {
    counter: 'holdfast.unowned_shutdown',
    description: 'Control servers found to have stopped because nobody owned them.',
    attributes: ofScope,
  },
  'adoption.incompatible_stopped': {
    counter: 'holdfast.adoption.incompatible_stopped',
    description: 'Own control servers stopped because they lacked a capability.',
    attributes: ofScope,
  },
  'survivor.stopped': counted(
    'holdfast.survivor',
    'What became of survivors found with survival off.',
    'stopped',
  ),
  'survivor.left_alone': counted(
    'holdfast.survivor',
    'What became of survivors found with survival off.',
    'left_alone',
  ),
  'survivor.not_stopped': counted(
    'holdfast.survivor',
    'What became of survivors found with survival off.',
    'not_stopped',
  ),
  'ownership.started': {
    counter: 'holdfast.ownership.started',
    description: 'Control servers started and owned.',
    attributes: ofScope,
  },
  'ownership.renewal_failed': {
    counter: 'holdfast.ownership.renewal_failed',
    description: 'Renewals of ownership that failed.',
    attributes: ofScope,
  },
  'ownership.lost': {
    counter: 'holdfast.ownership.lost',
    description: 'Control servers lost to another backend.',
    attributes: ofScope,
  },
  'server.ended': {
    counter: 'holdfast.server.ended',
    description: 'Control servers that ended while they were driven.',
    attributes: ({ scope, answer }) => ({ ...ofScope({ scope }), answer }),
  },
  'ownership.detached': {
    counter: 'holdfast.detached',
    description: 'Control servers let go of, alive.',
    attributes: ofScope,
  },
  'secret.not_removed': null,
  'instance.stopped': {
    counter: 'holdfast.instance.stopped',
    description: 'Instances stopped by recovery.',
    attributes: ({ scope, why }) => ({ ...ofScope({ scope }), why }),
  },
  'instance.stop_failed': {
    counter: 'holdfast.instance.stop_failed',
    description: 'Instances that recovery could not stop.',
    attributes: ({ scope, why }) => ({ ...ofScope({ scope }), why }),
  },
  'session.retracked': {
    counter: 'holdfast.session.retracked',
    description: 'Sessions that work again after a restart.',
    attributes: () => ({}),
  },
  'outcome.not_acknowledged': null,
  'launch.refused': {
    counter: 'holdfast.launch.refused',
    description: 'Launches refused so that no session has a second agent.',
    attributes: ({ why }) => ({ why }),
  },
  'survival.capability': null,
  'settings.adjusted': {
    counter: 'holdfast.settings.adjusted',
    description: 'Settings that are not in force as they were given.',
    attributes: ({ setting }) => ({ setting }),
  },
  'ledger.unavailable': {
    counter: 'holdfast.ledger.unavailable',
    description: 'Outages of the ledger.',
    attributes: ({ reason }) => ({ reason }),
  },
  'ledger.available': null,
  'lock.broken': null,
  'lock.retaken': null,
  'lock.lost': {
    counter: 'holdfast.lock.lost',
    description: 'Shared locks lost.',
    attributes: () => ({}),
  },
  'turn.outcome': {
    counter: 'holdfast.turn.outcome',
    description: 'Turns that ended, once each.',
    attributes: ({ outcome }) => ({ outcome: outcome.kind }),
  },
  'turn.unprompted': {
    counter: 'holdfast.turn.unprompted',
    description: 'Turns that agents began on their own.',
    attributes: () => ({}),
  },
  'session.ready': null,
  'permission.requested': null,
  'permission.cancelled': null,
  'session.detached': null,
  'session.ended': null,
  'session.restarted': {
    counter: 'holdfast.session.restarted',
    description: 'Agents started for sessions that had one before.',
    attributes: ({ history }) => ({ history }),
  },
  'runtime.repaired': {
    counter: 'holdfast.runtime.repaired',
    description: 'Agents that npm runs started with fresh metadata.',
    attributes: ({ removed }) => ({ removed: String(removed) }),
  },
  'host.error': null,
};

function counted(
  name: Counted<never>['counter'],
  description: string,
  what: string,
): Counted<{ readonly scope: string }> {
  return { counter: name, description, attributes: (event) => ({ ...ofScope(event), what }) };
}

/** The runtime of a scope: the rest of a scope names a container or a host, of which there may be many. */
function ofScope({ scope }: { readonly scope: string }): CountAttributes {
  return { runtime: scope.split(':', 1)[0] ?? scope };
}

/** Counts the events that have a row in {@link EVENT_COUNTERS}. */
export function countEvents(provider: MeterProvider): HostEventListener {
  const counters = new Map<string, Counter>();
  return (event) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the row of an event takes that event
    const row = EVENT_COUNTERS[event.name] as Counted<HostEvent> | null;
    if (row === null) return;
    const count = counters.get(row.counter) ?? counter(provider, row.counter, row.description);
    counters.set(row.counter, count);
    count(row.attributes(event));
  };
}

/** Counts each row of a recovery under the counter of its outcome. */
export function countOutcomes(provider: MeterProvider, { rows }: Pick<RecoveryReport, 'rows'>): void {
  for (const { outcome } of rows) {
    const name = OUTCOME_EFFECTS[outcome.kind].counter;
    counter(provider, name, `Rows of the inventory that came to ${outcome.kind}.`)(detailOf(outcome));
  }
}

function detailOf(outcome: RowOutcome): CountAttributes {
  if ('reason' in outcome) return { reason: outcome.reason };
  return 'name' in outcome ? { name: outcome.name } : {};
}
