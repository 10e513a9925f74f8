import { spawn } from 'node:child_process';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { StopReason } from '@agentclientprotocol/sdk';
import { askPermission } from './ask-permission.ts';
import { RpcError } from './json-rpc.ts';
import type { StepName, StepOf } from './steps.ts';
import type { Turn } from './turn.ts';

const LOOK_EVERY_MS = 10;

/** Does one step. Gives a stop reason when that ends the turn; throws an `AbortError` when the turn is cancelled meanwhile. */
export async function perform<N extends StepName>(
  turn: Turn,
  step: StepOf<N> & { readonly step: N },
): Promise<StopReason | undefined> {
  return (await PERFORMERS[step.step](turn, step)) ?? undefined;
}

type Performers = { readonly [N in StepName]: (turn: Turn, step: StepOf<N>) => Promise<StopReason | void> };

const PERFORMERS: Performers = {
  say: async (turn, { text }) => {
    await turn.say(text);
  },
  chunks: async (turn, { count, bytes = 0, everyMs, text = 'chunk' }) => {
    for (let number = 1; number <= count; number += 1) {
      if (everyMs !== undefined && number > 1) await wait(everyMs, undefined, { signal: turn.cancelled });
      turn.cancelled.throwIfAborted();
      await turn.say(numbered(text, number, count, bytes));
    }
  },
  flood: async (turn, { count, bytes }) => {
    for (let number = 1; number <= count; number += 1) {
      turn.cancelled.throwIfAborted();
      await turn.session.sendUnremembered({
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'text', text: numbered('flood', number, count, bytes) },
      });
    }
  },
  thought: async (turn, { text }) => {
    await turn.session.send({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  },
  toolCall: async (turn, step) => {
    const { title, kind = 'other', statuses = ['pending', 'in_progress', 'completed'], everyMs } = step;
    const toolCallId = turn.session.nextToolCallId();
    const [first, ...further] = statuses;
    await turn.session.send({ sessionUpdate: 'tool_call', toolCallId, title, kind, status: first });
    for (const status of further) {
      if (everyMs !== undefined) await wait(everyMs, undefined, { signal: turn.cancelled });
      await turn.session.send({ sessionUpdate: 'tool_call_update', toolCallId, status });
    }
  },
  permission: async (turn, step) => {
    await turn.say(`permission: ${await askPermission(turn, step)}`);
  },
  request: async (turn, { method, params }) => {
    const answer = await (await turn.rpc.request(method, params)).answer;
    await turn.say(
      answer.kind === 'result'
        ? `request: result ${JSON.stringify(answer.result)}`
        : `request: error ${String(answer.code)}`,
    );
  },
  delay: async (turn, { ms }) => {
    await wait(ms, undefined, { signal: turn.cancelled });
  },
  waitFor: async (turn, { file }) => {
    while (!existsSync(inWorkspace(turn, file))) {
      await wait(LOOK_EVERY_MS, undefined, { signal: turn.cancelled });
    }
  },
  touch: async (turn, { file, content = '' }) => {
    await turn.output.flush(); // who sees the file may count on what was sent before
    const path = inWorkspace(turn, file);
    const unfinished = `${path}.unfinished`;
    writeFileSync(unfinished, content);
    renameSync(unfinished, path);
  },
  silence: async (turn) => {
    while (!turn.cancelled.aborted) await wait(60_000, undefined, { signal: turn.cancelled });
  },
  crash: async (turn, { exitCode = 1, signal }) => {
    await turn.output.flush();
    await turn.process.end(signal === undefined ? { exitCode } : { signal });
  },
  refuse: async () => await Promise.resolve('refusal'),
  fail: async (_turn, { code, message }) => await Promise.reject(new RpcError(code, message)),
  end: async (_turn, { stopReason }) => await Promise.resolve(stopReason),
  late: async (turn, { afterMs, text }) => {
    void turn.answered.then(async () => {
      await wait(afterMs);
      await turn.say(text);
    });
    await Promise.resolve();
  },
  afterwards: async (turn, { afterMs = 0, steps, saysIdle = false }) => {
    void turn.answered.then(async () => {
      await wait(afterMs);
      await turn.goOn(steps, saysIdle);
    });
    await Promise.resolve();
  },
  usage: async (turn, { used, size }) => {
    await turn.session.send({ sessionUpdate: 'usage_update', used, size });
  },
  rawLine: async (turn, { line, dots = 0, ended = true }) => {
    await turn.output.write(line + '.'.repeat(dots), ended ? undefined : '');
  },
  unknownUpdate: async (turn, { update }) => {
    await turn.session.send(update);
  },
  stderr: async (turn, { text }) => {
    await Promise.resolve(turn.process.complain(text));
  },
  child: async (turn, step) => {
    await turn.say(`child: ${String(await startChild(turn, step))}`);
  },
  choices: async (turn) => {
    const { opened, choices } = turn.session;
    await turn.say(`choices: ${JSON.stringify({ opened, ...choices.chosen() })}`);
  },
  memory: async (turn, { bytes }) => {
    await Promise.resolve(turn.process.takeMemory(bytes));
  },
  closeOutput: async (turn) => {
    await turn.output.flush();
    turn.process.closeOutput();
  },
  closeInput: async (turn) => {
    await Promise.resolve(turn.process.closeInput());
  },
  environment: async (turn, { name }) => {
    const value = turn.process.environment(name);
    await turn.say(value === undefined ? `${name} is not set` : `${name}=${value}`);
  },
  ignoreSigterm: async (turn) => {
    await Promise.resolve(turn.process.ignoreSigterm());
  },
  ignoreCancel: async (turn) => {
    await Promise.resolve(turn.ignoreCancel());
  },
};

function numbered(word: string, number: number, count: number, bytes: number): string {
  const text = `${word} ${String(number)}/${String(count)}`;
  return text + '.'.repeat(Math.max(bytes - Buffer.byteLength(text), 0));
}

function inWorkspace(turn: Turn, file: string): string {
  return isAbsolute(file) ? file : join(turn.session.workingDirectory, file);
}

async function startChild(
  turn: Turn,
  { command: [program = '', ...args], ownSession = false, ownOutput = false }: StepOf<'child'>,
): Promise<number | undefined> {
  const child = spawn(program, args, {
    cwd: turn.session.workingDirectory,
    detached: ownSession,
    stdio: ['ignore', ownOutput ? 'inherit' : 'ignore', 'ignore'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
  return child.pid;
}
