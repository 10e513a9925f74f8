import { describe, expect, it } from '@jest/globals';
import type { Enumeration, ExecutionRecord } from '@holdfast/executor-contract';
import * as fc from 'fast-check';
import {
  judgeRow,
  takeEnumerations,
  type EnumeratedServer,
  type LivenessPorts,
  type RowLiveness,
} from '../../src/index.ts';
import { never } from '../fixtures/backend.ts';
import { found, row } from '../fixtures/rows.ts';

function server(scope: string, serverId: string, enumeration: Enumeration): EnumeratedServer {
  return { scope, serverId, enumerate: async () => await Promise.resolve(enumeration) };
}

function having(...sessionIds: readonly string[]): Enumeration {
  return { kind: 'enumerated', instances: sessionIds.map((sessionId) => found(sessionId).instance) };
}

const SILENT: Enumeration = { kind: 'not_enumerated', detail: 'silence' };

const GIVEN: LivenessPorts = {
  survival: true,
  standingOf: () => 'inherited',
  refusedServer: async () => await Promise.resolve('none'),
  probe: async () => await Promise.resolve({ process: 'ended', detail: 'it has ended' }),
};

async function judge(
  record: ExecutionRecord,
  servers: readonly EnumeratedServer[],
  given: Partial<LivenessPorts> = {},
): Promise<RowLiveness> {
  return await judgeRow(record, await takeEnumerations(servers, never), { ...GIVEN, ...given });
}

const asking =
  (what: string): (() => never) =>
  () => {
    throw new Error(`${what} was asked`);
  };
const UNASKED = { refusedServer: asking('the refused server'), probe: asking('the process') };

describe('judging a row', () => {
  it('asks nobody while its recovery or its stop is under way [SURVIVAL-003.6]', async () => {
    for (const standing of ['recovering', 'stop_in_flight'] as const) {
      const judged = await judge(row('s1'), [server('standalone', 'server-1', having('s1'))], {
        ...UNASKED,
        standingOf: () => standing,
      });
      expect(judged).toMatchObject({ liveness: 'unknown', situation: standing });
    }
  });

  it('goes by the enumeration of its own server, whoever launched it', async () => {
    for (const [standing, situation] of [
      ['inherited', 'adopted'],
      ['launched_here', 'own'],
    ] as const) {
      const given = { ...UNASKED, standingOf: () => standing };
      const [there, empty] = [having('s1'), having('another')];
      expect(await judge(row('s1'), [server('standalone', 'server-1', there)], given)).toMatchObject({
        liveness: 'alive',
        situation,
      });
      expect(await judge(row('s1'), [server('standalone', 'server-1', empty)], given)).toMatchObject({
        liveness: 'gone',
      });
      expect(await judge(row('s1'), [server('standalone', 'server-1', SILENT)], given)).toMatchObject({
        liveness: 'unknown',
      });
    }
  });

  it('takes the instance that its session was given for its own', async () => {
    const judged = await judge(row('s1', { instanceId: 'another' }), [
      server('standalone', 'server-1', having('s1')),
    ]);
    expect(judged.liveness).toBe('alive');
  });

  it('takes absence from another server than its own for no evidence, and looks for the process', async () => {
    for (const process of ['running', 'ended', 'unknown'] as const) {
      for (const record of [row('s1'), row('s1', { serverId: null }), row('s1', { scope: 'docker:abc' })]) {
        const judged = await judge(record, [server('standalone', 'server-2', having())], {
          probe: async () => await Promise.resolve({ process, detail: 'as seen' }),
        });
        expect(judged).toEqual({
          liveness: { running: 'alive', ended: 'gone', unknown: 'unknown' }[process],
          situation: 'no_server',
          why: 'as seen',
        });
      }
    }
  });

  it('says nothing while a server that refused us may be there, and looks for the process once it is gone', async () => {
    const servers = [server('standalone', 'server-2', having())];
    const standing = (answer: 'answers' | 'gone'): Partial<LivenessPorts> => ({
      refusedServer: async () => await Promise.resolve(answer),
    });
    expect(
      await judge(row('s1'), servers, { ...standing('answers'), probe: asking('the process') }),
    ).toMatchObject({ liveness: 'unknown', situation: 'not_adopted' });
    expect(await judge(row('s1'), servers, standing('gone'))).toMatchObject({
      liveness: 'gone',
      situation: 'no_server',
    });
  });

  it('looks for the process alone where agents do not outlive their backend', async () => {
    const judged = await judge(row('s1'), [server('standalone', 'server-1', having('s1'))], {
      survival: false,
      standingOf: asking('the standing'),
      refusedServer: asking('the refused server'),
    });
    expect(judged).toMatchObject({ liveness: 'gone', situation: 'survival_off' });
  });

  it('comes to the same for each row, whatever the order of servers and instances', async () => {
    const anyServer = fc.record({
      scope: fc.constantFrom('standalone', 'docker:a', 'docker:b'),
      serverId: fc.constantFrom('server-1', 'server-2'),
      sessions: fc.option(fc.shuffledSubarray(['s1', 's2', 's3'])),
    });
    const anyRow = fc.record({
      sessionId: fc.constantFrom('s1', 's2', 's3'),
      scope: fc.constantFrom('standalone', 'docker:a', 'docker:b'),
      serverId: fc.constantFrom('server-1', 'server-2', null),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyServer, { selector: ({ scope }) => scope }),
        anyRow,
        async (servers, { sessionId, ...where }) => {
          const record = row(sessionId, where);
          const made = (given: typeof servers): EnumeratedServer[] =>
            given.map(({ scope, serverId, sessions }) =>
              server(scope, serverId, sessions === null ? SILENT : having(...sessions)),
            );
          const turned = servers
            .toReversed()
            .map((given) => ({ ...given, sessions: given.sessions?.toReversed() ?? null }));
          expect(await judge(record, made(turned))).toEqual(await judge(record, made(servers)));
        },
      ),
    );
  });
});
