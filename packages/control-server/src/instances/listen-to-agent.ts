import type { AgentListener } from '../agent/agent-listener.ts';
import { turnTaker } from '../agent/take-turns.ts';
import type { Journal } from '../journal/journal.ts';
import { publishUnlessStopped } from '../journal/publish-unless-stopped.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Turns } from '../turns/turns.ts';
import type { Activity } from './activity.ts';

/** The parts of an instance that hear of what its agent says. */
export interface ListeningParts {
  readonly journal: Journal;
  readonly turns: Turns;
  readonly permissions: Permissions;
  readonly activity: Pick<Activity, 'touch'>;
  readonly files: AgentListener['files'];
}

/** The one door for what an agent says: each event gets into the journal, or waits there, before more is read. */
export function listenToAgent({
  journal,
  turns,
  permissions,
  activity,
  files,
}: ListeningParts): AgentListener {
  const { own } = turns;
  const takeTurns = turnTaker();
  const hear = async (take: () => Promise<void>): Promise<void> => {
    activity.touch();
    own.watch.heard();
    await take();
    await takeTurns();
    own.watch.listening();
  };
  return {
    publish: async (event) => {
      const publish = async (): Promise<void> => {
        await publishUnlessStopped(journal, event);
      };
      await hear(async () => {
        if (event.type === 'session_update') await own.updated(event.update, publish);
        else await publish();
      });
    },
    publishLossy: (event) => {
      journal.publishLossy(event);
    },
    permissionAsked: async (asked, onOpened) => {
      await hear(async () => {
        own.asked(asked.toolCall);
        await permissions.ask({ ...asked, turnId: turns.active?.turnId ?? null }, onOpened);
      });
    },
    permissionWithdrawn: async (requestId) => {
      await hear(async () => {
        await permissions.cancel(requestId, 'agent_withdrew');
      });
    },
    files,
  };
}
