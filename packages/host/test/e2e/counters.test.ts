import { describe, expect, it } from '@jest/globals';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { createHost } from '@holdfast/host';
import { standalone } from '@holdfast/executor-standalone';
import { script, scriptedAgentCommand } from '@holdfast/scripted-agent';
import { testHome, waitForExit, type TestHome } from '@holdfast/testbeds';
import { Backend } from '../fixtures/backend-driver.ts';
import { changeSecret, leaveSurvivor } from '../fixtures/survivor.ts';

const LONG_MS = 300_000;
const CANARY = 'hush-7c2e';

describe('the counters of a recovery', () => {
  it(
    'tell what was adopted, re-tracked, stopped and let go of',
    async () => {
      await using home = await testHome('counted');
      {
        await using first = await Backend.ready(home);
        await first.create(home, 'idle');
        await first.create(home, 'running');
        await first.prompt('running', script({ step: 'silence' }));
        await first.kill();
      }
      const meters = inMemoryMeters();
      const host = await createHost({
        home: home.path('home'),
        survival: 'on',
        runtimes: [standalone()],
        agents: { scripted: { command: scriptedAgentCommand(), environment: { TOKEN: CANARY } } },
        settings: { idleTimeoutMs: '2m' },
        meterProvider: meters.provider,
      });
      await host.close({ agents: 'keep' });
      const counts = await meters.counts();
      expect(counts).toEqual({
        'holdfast.adoption.attempted {"runtime":"standalone"}': 1,
        'holdfast.adoption.adopted {"runtime":"standalone"}': 1,
        'holdfast.session.retracked {}': 2,
        'holdfast.recovery.retracked {}': 2,
        'holdfast.settings.adjusted {"setting":"agentctl.unownedPeriod"}': 1,
        'holdfast.detached {"runtime":"standalone"}': 1,
      });
      expect(JSON.stringify(counts)).not.toContain(CANARY);
      await stopAll(home);
    },
    LONG_MS,
  );

  it(
    'tell what was refused and why, adoptions and launches',
    async () => {
      await using home = await testHome('counted-refusal');
      await using _ = await leaveSurvivor(home);
      await changeSecret(home, 'not a secret');
      const meters = inMemoryMeters();
      const host = await createHost({
        home: home.path('home'),
        survival: 'on',
        runtimes: [standalone()],
        agents: { scripted: { command: scriptedAgentCommand() } },
        meterProvider: meters.provider,
      });
      const session = await host.sessions.get('one');
      await expect(session?.prompt('go on')).rejects.toMatchObject({ code: 'agent_not_gone' });
      await host.close({ agents: 'stop' });
      expect(await meters.counts()).toEqual({
        'holdfast.adoption.attempted {"runtime":"standalone"}': 1,
        'holdfast.adoption.refused {"runtime":"standalone","reason":"credential_unavailable"}': 1,
        'holdfast.ownership.started {"runtime":"standalone"}': 1,
        'holdfast.recovery.adoption_refused {"reason":"credential_unavailable"}': 1,
        'holdfast.launch.refused {"why":"agent_not_gone"}': 1,
      });
    },
    LONG_MS,
  );
});

interface Meters {
  readonly provider: MeterProvider;
  /** Every sum so far, by the name of its counter and its attributes. */
  readonly counts: () => Promise<Readonly<Record<string, unknown>>>;
}

function inMemoryMeters(): Meters {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Collected when it is asked, never by time.
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  return {
    provider,
    counts: async () => {
      await provider.forceFlush();
      const counted = exporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap(({ metrics }) => metrics)
        .flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => [
            `${descriptor.name} ${JSON.stringify(attributes)}`,
            value,
          ]),
        );
      await provider.shutdown();
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- pairs of a name and a value
      return Object.fromEntries(counted) as Record<string, unknown>;
    },
  };
}

async function stopAll(home: TestHome): Promise<void> {
  await using backend = await Backend.ready(home);
  const { agentPid } = await backend.instance('idle');
  await backend.close('stop');
  await waitForExit(agentPid ?? 0, { withinMs: 60_000, reason: 'it was stopped with its server' });
}
