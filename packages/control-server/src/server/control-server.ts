import { join } from 'node:path';
import { LAST_WORDS, unownedPeriodInForce } from '@holdfast/control-protocol';
import { baseEnvironment } from '../agent/agent-environment.ts';
import { BoundedLogFile, LOG_BOUNDS } from '../diagnostics/bounded-log-file.ts';
import { createLog, errorFacts, type Log } from '../diagnostics/log.ts';
import { RequestCounts } from '../diagnostics/request-counts.ts';
import { ConnectionCutError } from '../http/connection-cut-error.ts';
import { EventStreams } from '../http/event-streams.ts';
import { Listener } from '../http/listener.ts';
import { startIdleReaper } from '../instances/idle-reaper.ts';
import { InstanceTable } from '../instances/instance-table.ts';
import { NpmRuntimes } from '../npm-runtime/npm-runtimes.ts';
import type { OwnershipStep } from '../ownership/ownership-step.ts';
import { Ownership } from '../ownership/ownership.ts';
import type { ShutdownCause } from '../ownership/shutdown-latch.ts';
import { randomId } from '../ports/random.ts';
import { startRunningClock } from '../ports/running-clock.ts';
import { systemCode } from '../ports/system-error.ts';
import { completeOptions, type CompleteOptions, type ControlServerOptions } from './options.ts';

/** The log file cannot be opened; without it the server does not start. */
export class CannotLogError extends Error {
  override readonly name = 'CannotLogError';
  readonly code = 'cannot_log';
  readonly logFile: string;

  constructor(logFile: string, cause: unknown) {
    const why = systemCode(cause) ?? 'unknown';
    super(`Cannot write the log file ${logFile}: ${why}. Give another one.`, { cause });
    this.logFile = logFile;
  }
}

/** A control server that listens. */
export interface ControlServer extends AsyncDisposable {
  readonly serverId: string;
  /** e.g. `http://127.0.0.1:4321` */
  readonly endpoint: string;
  readonly logFile: string;
  /** Resolves when everything has stopped: all agents, the listener, the log. Never rejects. */
  readonly ended: Promise<{ readonly why: ShutdownCause }>;
  /** Stops everything, as an ownership shutdown does; resolves when that is done. */
  stop(): Promise<void>;
  /** Writes to the server's own log, for the program around it. */
  readonly log: Log;
}

/**
 * Starts a control server in this process. Rejects with `SettingError`, `HomeNotUsableError`, `CannotLogError` or
 * `CannotListenError`, and leaves nothing behind then.
 */
export async function startControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const complete = await completeOptions(options);
  const logFile = openLogFile(complete);
  try {
    return await start(complete, logFile);
  } catch (error) {
    logFile.close();
    throw error;
  }
}

async function start(options: CompleteOptions, logFile: BoundedLogFile): Promise<ControlServer> {
  const { random, settings, home } = options;
  const log = createLog(logFile);
  const clock = startRunningClock(options.clock, (stoodStillMs) => {
    log.warn({ stoodStillMs }, 'the server did not run for a while; that time does not count');
  });
  const serverId = randomId(random);
  const period = unownedPeriodInForce(settings.unownedPeriodMs, settings.idleTimeoutMs);
  let issuedNumbers = 0;
  const instances = new InstanceTable(
    {
      clock,
      log,
      serverId,
      detachedEventLimit: settings.detachedEventLimit,
      baseEnvironment: baseEnvironment(options.environment),
      npmRuntimes: new NpmRuntimes({
        clock,
        log,
        directory: join(home, 'npm-runtime'),
        nextId: () => randomId(random),
      }),
      startBudgets: options.startBudgets,
      stopGraceMs: options.stopGraceMs,
      nextNumber: () => {
        issuedNumbers += 1;
        return issuedNumbers;
      },
    },
    () => randomId(random),
  );
  const listener = new Listener(clock);
  const ownership = new Ownership({
    clock,
    random,
    serverId,
    unownedPeriodMs: period.periodMs,
    nonce: options.nonce,
    countInstances: () => instances.size,
  });
  const dispatching = {
    parts: {
      serverId,
      capabilities: options.capabilities,
      unownedPeriodMs: period.periodMs,
      home,
      logFile: options.logFile,
      startedAt: clock.wall().toISOString(),
      log,
      ownership,
      atStep: async (step: OwnershipStep) => {
        try {
          await options.onOwnershipStep(step);
        } catch {
          throw new ConnectionCutError();
        }
      },
      instances,
      requests: new RequestCounts(),
      audiences: () => listener.addresses.audiences,
    },
    clock,
    hosts: () => listener.addresses.hosts,
  };
  const streams = new EventStreams(dispatching);
  try {
    await listener.listen({ host: options.listenHost, port: options.port }, dispatching, streams);
  } catch (error) {
    ownership.shutDown('stopped');
    clock.stop();
    throw error;
  }
  const stopReaper = startIdleReaper({ clock, log, instances, idleTimeoutMs: settings.idleTimeoutMs });
  const { endpoint } = listener.addresses;
  for (const adjustment of period.adjustments) log.warn({}, adjustment);
  log.info(
    { serverId, endpoint, pid: process.pid, home, unownedPeriodMs: period.periodMs },
    'the server listens',
  );

  const ended = (async () => {
    const why = await ownership.closing;
    log.info({ why, instances: instances.size }, 'the server stops');
    stopReaper();
    const streamsClosed = streams.closeAll('serverStopping');
    try {
      await instances.removeAll();
    } catch (error) {
      log.error(errorFacts(error), 'an instance could not be stopped in order');
    }
    await streamsClosed;
    await listener.close();
    clock.stop();
    log.info({ serverId, why }, LAST_WORDS);
    logFile.close();
    return { why };
  })();
  const stop = async (): Promise<void> => {
    ownership.shutDown('stopped');
    await ended;
  };
  return { serverId, endpoint, logFile: options.logFile, ended, stop, log, [Symbol.asyncDispose]: stop };
}

function openLogFile({ logFile }: CompleteOptions): BoundedLogFile {
  try {
    return new BoundedLogFile(logFile, { bounds: LOG_BOUNDS, now: Date.now });
  } catch (error) {
    throw new CannotLogError(logFile, error);
  }
}
