/**
 * A small backend, the program that a user of Holdfast would write. Run by the demo as `backend.ts first|second|last FILE`: the
 * first begins, the second goes on, the last stops what is left when the demo did not get that far.
 */
import { readFile } from 'node:fs/promises';
import { createHost, type Host, type Session } from '@holdfast/host';
import { standalone } from '@holdfast/executor-standalone';
import type { BackendMessage, SessionResult } from './messages.ts';
import type { DemoSession, Scenario } from './scenario.ts';

function tell(message: BackendMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

const [, , role, file = ''] = process.argv;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the demo itself, moments ago
const scenario = JSON.parse(await readFile(file, 'utf8')) as Scenario;
const startedAt = performance.now();

const host = await createHost({
  home: scenario.home,
  survival: 'on',
  runtimes: [standalone()],
  agents: { demo: scenario.agent },
  onEvent: (event) => {
    if (event.name === 'turn.outcome') tell({ kind: 'applied', turnId: event.turnId });
  },
});
const roles = { first: begin, second: goOn, last: stopAll };
try {
  await (role === 'first' || role === 'second' ? roles[role] : roles.last)(host);
} catch (error) {
  tell({ kind: 'said', text: error instanceof Error ? error.message : String(error) });
  await host.close({ agents: 'stop' });
  process.exitCode = 1;
}

/** The first life: three sessions, one prompt each. It never gets to an end of its own. */
async function begin(first: Host): Promise<void> {
  await Promise.all(
    scenario.sessions.map(async ({ name, workspace, prompt }) => {
      const session = await first.sessions.create({
        sessionId: name,
        taskId: `task-${name}`,
        agent: 'demo',
        runtime: 'standalone',
        workspace: { kind: 'local', path: workspace },
      });
      const turn = await session.prompt(prompt);
      const instance = await session.instance();
      tell({ kind: 'session', name, agentPid: instance?.agentPid ?? 0, turnId: turn.id });
      void follow(session, 0);
    }),
  );
}

/** The second life: what was adopted, the answers that are due, one more prompt on each session, and the count. */
async function goOn(second: Host): Promise<void> {
  for (const line of String(second.recovery).split('\n')) tell({ kind: 'said', text: line });
  const sessions = second.recovery.counts.retracked ?? 0;
  tell({ kind: 'adopted', sessions, ms: Math.round(performance.now() - startedAt) });
  const results = await Promise.all(scenario.sessions.map(async (session) => await finish(second, session)));
  tell({ kind: 'result', sessions: results });
  await second.close({ agents: 'stop' });
}

async function stopAll(last: Host): Promise<void> {
  await last.close({ agents: 'stop' });
}

async function finish(second: Host, { name, asks, followUp }: DemoSession): Promise<SessionResult> {
  const session = await second.sessions.get(name);
  const [firstTurn] = await second.turns.list(name);
  const turn = firstTurn === undefined ? null : await second.turns.get(firstTurn.turnId);
  if (session === null || turn === null) throw new Error(`session ${name} is not in the ledger`);
  void follow(session, 0);

  for (const request of asks ? await session.permissions.list() : []) {
    const allow = request.options.find(({ kind }) => kind === 'allow_once');
    await session.permissions.answer(
      request.requestId,
      allow === undefined ? { cancelled: true } : { optionId: allow.optionId },
    );
    tell({ kind: 'said', text: `${name}: answered the permission request that was open before` });
  }
  const outcome = await turn.outcome;
  const next = await session.prompt(followUp);
  const followUpOutcome = await next.outcome;
  const instance = await session.instance();
  const produced = (instance?.journal.nextSeq ?? 1) - 1;
  const events = await storedEvents(session, produced);
  return {
    name,
    agentPid: instance?.agentPid ?? null,
    outcome: outcome.kind,
    followUp: followUpOutcome.kind,
    produced,
    positions: events.map(({ position }) => position),
    chunks: events.flatMap(({ text }) => {
      const number = /^chunk (\d+)\//.exec(text)?.[1];
      return number === undefined ? [] : [Number(number)];
    }),
  };
}

/** What the ledger holds, once it holds so many. */
async function storedEvents(
  session: Session,
  count: number,
): Promise<ReadonlyArray<{ readonly position: number; readonly text: string }>> {
  const events: Array<{ position: number; text: string }> = [];
  for await (const { position, event } of session.events()) {
    events.push({ position, text: textOf(event) });
    if (events.length >= count) break;
  }
  return events;
}

async function follow(session: Session, after: number): Promise<void> {
  for await (const { position, event } of session.events({ after })) {
    tell({ kind: 'event', name: session.id, position, type: event.type, text: textOf(event) });
  }
}

function textOf(event: { readonly type: string; readonly update?: unknown }): string {
  const update: unknown = event.update;
  if (typeof update !== 'object' || update === null || !('content' in update)) return '';
  const { content } = update;
  return typeof content === 'object' && content !== null && 'text' in content ? String(content.text) : '';
}
