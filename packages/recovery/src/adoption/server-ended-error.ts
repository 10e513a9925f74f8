import type { ServerEnd } from './server-end.ts';

/** The reason of an `OwnedControlServer.ended` signal: nothing can be started on the server any more. */
export class ServerEndedError extends Error {
  override readonly name = 'ServerEndedError';
  readonly code = 'server_ended';
  readonly scope: string;
  readonly serverId: string;
  readonly answer: ServerEnd;

  constructor(facts: { scope: string; serverId: string; answer: ServerEnd }) {
    const how = facts.answer === 'no_answer' ? 'nobody is there any more' : 'it says that it is stopping';
    super(
      `Control server ${facts.serverId} (scope ${facts.scope}) has ended: ${how}; the next launch starts another.`,
    );
    this.scope = facts.scope;
    this.serverId = facts.serverId;
    this.answer = facts.answer;
  }
}
