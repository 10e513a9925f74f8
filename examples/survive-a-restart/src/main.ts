/**
 * The demo: three agents survive the SIGKILL of their backend. `npm run demo`, or with any ACP agent
 * `npm run demo -- --agent "<command>"`. Exit code 0 only if nothing was lost and nothing doubled.
 */
import { existsSync, watch } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBackend, type BackendProcess } from './backend-process.ts';
import type { BackendMessage, SessionResult } from './messages.ts';
import { anyAgentScenario, scriptedScenario, type Scenario } from './scenario.ts';
import { judge } from './verdict.ts';

const LONGEST_MS = 5 * 60_000;

const startedAt = performance.now();
function say(who: string, what: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(2).padStart(6);
  process.stdout.write(`${seconds}s  ${who.padEnd(10)}  ${what}\n`);
}

const { values } = parseArgs({ options: { agent: { type: 'string' } } });
const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-demo-')));
const scenarioFile = join(folder, 'scenario.json');
const scenario =
  values.agent === undefined
    ? scriptedScenario(folder)
    : anyAgentScenario(folder, values.agent, definedOnly(process.env));
const stopped = Promise.withResolvers<string>();
process.once('SIGINT', () => {
  stopped.resolve('it was interrupted');
});
const watchdog = setTimeout(() => {
  stopped.resolve(`it was not done after ${String(LONGEST_MS / 60_000)} minutes`);
}, LONGEST_MS);
const running = new Set<BackendProcess>();

const faults = await Promise.race([run(scenario), stopped.promise.then((why) => [why])]);
clearTimeout(watchdog);
if (faults.length === 0) {
  await rm(folder, { recursive: true });
} else {
  await stopWhatIsLeft();
  process.stdout.write(
    `\nNOT as promised: ${faults.join('; ')}\nThe control server's log is in ${scenario.home}/logs\n`,
  );
}
process.exit(faults.length === 0 ? 0 : 1);

async function run({ sessions, home, goFile, doneFile }: Scenario): Promise<readonly string[]> {
  for (const { workspace } of sessions) await mkdir(workspace, { recursive: true });
  await writeFile(scenarioFile, JSON.stringify(scenario), { mode: 0o600 });

  const before = new Map<string, { agentPid: number; turnId: string }>();
  const applied = new Map<string, number>();
  const showing = new Map<string, number>();
  const midTurn = Promise.withResolvers<'mid-turn'>();
  // The scripted agent streams for seconds; of another one nothing is known but that it answers.
  const [first] = sessions;
  const enough = first !== undefined && first.chunks > 0 ? first.chunks / 4 : 1;
  let permissionAsked = !sessions.some(({ asks }) => asks);
  let streamed = 0;

  const hear = (who: string, message: BackendMessage): void => {
    if (message.kind === 'session') {
      before.set(message.name, message);
      say(who, `${message.name}: agent ${String(message.agentPid)} took its prompt`);
    } else if (message.kind === 'said') {
      say(who, message.text);
    } else if (message.kind === 'applied') {
      applied.set(message.turnId, (applied.get(message.turnId) ?? 0) + 1);
    } else if (message.kind === 'event') {
      show(who, message, showing);
      if (message.name === first?.name && message.type === 'session_update') streamed += 1;
      if (message.type === 'permission_requested') permissionAsked = true;
    }
    if (before.size === sessions.length && streamed >= enough && permissionAsked) midTurn.resolve('mid-turn');
  };

  const backendA = start('first', (message) => {
    hear('backend A', message);
  });
  say('backend A', `started (pid ${String(backendA.pid)})`);
  for (const { name, shows } of sessions) say('demo', `session ${name}: ${shows}`);
  const reached = await Promise.race([midTurn.promise, backendA.ended]);
  if (reached !== 'mid-turn') return [`backend A ended by itself, with ${reached}`];
  backendA.kill();
  say('demo', `kill -9 ${String(backendA.pid)} and its process group: ended by ${await backendA.ended}`);

  say('demo', `the control server works on${await serverPid(home)}; nobody is attached`);
  await writeFile(goFile, '');
  if (doneFile !== null) {
    await untilExists(doneFile);
    say('demo', 'a turn has ended that no backend saw');
  }

  const end: { ms: number; adopted: number; results: readonly SessionResult[] } = {
    ms: 0,
    adopted: 0,
    results: [],
  };
  const backendB = start('second', (message) => {
    if (message.kind === 'adopted') {
      end.ms = message.ms;
      end.adopted = message.sessions;
      say('backend B', `adopted ${String(message.sessions)} sessions in ${String(message.ms)} ms`);
    } else if (message.kind === 'result') {
      end.results = message.sessions;
    } else {
      hear('backend B', message);
    }
  });
  say('backend B', `started (pid ${String(backendB.pid)})`);
  const exit = await backendB.ended;

  const { lost, doubled, faults: found } = judge({ sessions, before, applied, results: end.results });
  for (const { name, agentPid, outcome, followUp, produced } of end.results) {
    say(
      name,
      `agent ${String(agentPid)}, ${String(produced)} events, turn ${outcome}, further prompt ${followUp}`,
    );
  }
  process.stdout.write(
    `\nlost ${String(lost)}, doubled ${String(doubled)}, adopted ${String(end.adopted)} of ${String(sessions.length)} in ${String(end.ms)} ms\n`,
  );
  return exit === '0' ? found : [...found, `backend B ended with ${exit}`];
}

function start(
  role: 'first' | 'second' | 'last',
  onMessage: (message: BackendMessage) => void,
): BackendProcess {
  const backend = startBackend(role, scenarioFile, onMessage);
  running.add(backend);
  return backend;
}

/** Agents outlive backends, so a demo that stops half-way has to stop them itself. */
async function stopWhatIsLeft(): Promise<void> {
  for (const backend of running) {
    backend.kill();
    await backend.ended;
  }
  if (existsSync(scenario.home)) await start('last', () => undefined).ended;
}

/** Every turn's beginning and end, and every tenth update. */
function show(
  who: string,
  { name, position, type, text }: Extract<BackendMessage, { kind: 'event' }>,
  showing: Map<string, number>,
): void {
  // The second backend reads from the start; what the first has shown is not shown again.
  if (position <= (showing.get(name) ?? 0)) return;
  showing.set(name, position);
  if (type === 'session_update' && position % 10 !== 0) return;
  say(who, `${name}: event ${String(position)} ${type}${text === '' ? '' : ` "${text.slice(0, 40)}"`}`);
}

async function untilExists(file: string): Promise<void> {
  const changes = watch(folder);
  try {
    while (!existsSync(file)) await new Promise((resolve) => changes.once('change', resolve));
  } finally {
    changes.close();
  }
}

/** The server's pid, as its own log tells. */
async function serverPid(home: string): Promise<string> {
  const log = await readFile(join(home, 'logs', 'control-server.log'), 'utf8').catch(() => '');
  const pid = /"pid":(\d+)/.exec(log)?.[1];
  return pid === undefined ? '' : ` (pid ${pid})`;
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
