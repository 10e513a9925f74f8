import { describe, expect, it } from '@jest/globals';
import { runStart, type StartPorts } from '../../src/sessions/managed-start/run-start.ts';

class Stale extends Error {}

/** Ports that note what they are asked to do; `during` is called within every step. */
function portsThat(
  during: (step: string) => void,
  startsAgain: () => string = () => 'agent',
): { readonly steps: string[]; readonly ports: StartPorts<string> } {
  const steps: string[] = [];
  const note = async (step: string): Promise<void> => {
    steps.push(step);
    during(step);
    await Promise.resolve();
  };
  const ports: StartPorts<string> = {
    ability: { kind: 'able', packageSpec: 'acme@1.0.0' },
    start: async (preference) => {
      await note(preference);
      if (preference === '--prefer-offline') throw new Stale('stale');
      return startsAgain();
    },
    stop: async () => {
      await note('stop');
    },
    repair: async (packageSpec) => {
      await note(`repair ${packageSpec}`);
      return { removed: true };
    },
    isStale: (failure) => failure instanceof Stale,
    codeOf: () => 'code',
  };
  return { steps, ports };
}

const STEPS = ['--prefer-offline', 'stop', 'repair acme@1.0.0', '--prefer-online'];
const never = new AbortController().signal;

describe('a start that is carried out', () => {
  it('goes through its steps in order', async () => {
    const { steps, ports } = portsThat(() => undefined);
    expect(await runStart(ports, never)).toEqual({
      at: 'ready',
      started: 'agent',
      repair: { kind: 'repaired', removed: true },
    });
    expect(steps).toEqual(STEPS);
  });

  it('ends with the second failure', async () => {
    const failure = new Stale('again');
    const { steps, ports } = portsThat(
      () => undefined,
      () => {
        throw failure;
      },
    );
    expect(await runStart(ports, never)).toMatchObject({ at: 'failed', failure });
    expect(steps).toEqual(STEPS);
  });

  it.each(STEPS.map((step, index) => [step, index + 1] as const))(
    'takes no step more when it is cancelled during "%s"',
    async (during, count) => {
      const cancel = new AbortController();
      const reason = new Error('cancelled');
      const { steps, ports } = portsThat((step) => {
        if (step === during) cancel.abort(reason);
      });
      await expect(runStart(ports, cancel.signal)).rejects.toBe(reason);
      expect(steps).toEqual(STEPS.slice(0, count));
    },
  );

  it('takes no step when it is cancelled before', async () => {
    const { steps, ports } = portsThat(() => undefined);
    await expect(runStart(ports, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
    expect(steps).toEqual([]);
  });
});
