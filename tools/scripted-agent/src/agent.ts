#!/usr/bin/env node
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LineWriter } from './line-writer.ts';
import type { OwnProcess } from './own-process.ts';
import { readLines } from './read-lines.ts';
import { ScriptedAgent } from './scripted-agent.ts';
import { SessionStore } from './session-store.ts';
import { readStartBehaviour } from './start-behaviour.ts';

const behaviour = readStartBehaviour(process.env['SCRIPTED_AGENT_START']);
const output = new LineWriter(process.stdout, {
  end: behaviour.crlf === true ? '\r\n\r\n' : '\n',
  pieceBytes: behaviour.pieceBytes,
});
const taken: Buffer[] = [];
let livesOn = behaviour.ignoreStdinEnd === true;

const ownProcess: OwnProcess = {
  environment: (name) => process.env[name],
  complain: (text) => {
    process.stderr.write(`${text}\n`);
  },
  end: async (how) => {
    if ('exitCode' in how) process.exit(how.exitCode);
    process.kill(process.pid, how.signal);
    return await new Promise<never>(() => undefined); // a signal that is ignored leaves the step hanging
  },
  ignoreSigterm: () => {
    process.on('SIGTERM', () => undefined);
  },
  takeMemory: (bytes) => {
    taken.push(Buffer.alloc(bytes, 1));
  },
  closeOutput: () => {
    closeSync(process.stdout.fd);
  },
  closeInput: () => {
    livesOn = true;
    process.stdin.destroy();
    closeSync(0); // which Node leaves open
  },
};

if (behaviour.ignoreSigterm === true) ownProcess.ignoreSigterm();
if (behaviour.stderr !== undefined) ownProcess.complain(behaviour.stderr);
if (behaviour.stdoutLine !== undefined) await output.write(behaviour.stdoutLine);
if (behaviour.delayMs !== undefined) await wait(behaviour.delayMs);
if (behaviour.exit !== undefined && behaviour.exitOn === undefined) process.exit(behaviour.exit);

process.stdout.on('error', () => process.exit(1)); // nobody is there to hear us
const agent = new ScriptedAgent({
  output,
  store: new SessionStore(process.env['SCRIPTED_AGENT_STATE'] ?? join(process.cwd(), '.scripted-agent')),
  process: ownProcess,
  behaviour,
});
try {
  for await (const line of readLines(process.stdin.setEncoding('utf8'))) {
    if (behaviour.silent !== true) void agent.rpc.receive(line);
  }
} catch (error) {
  if (!livesOn) throw error; // else it was closed by a step
}
if (livesOn) setInterval(() => undefined, 60_000);
else process.exit(0);
