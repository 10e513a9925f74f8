import { expect, it } from '@jest/globals';
import * as ledger from '@holdfast/turn-ledger';
import * as nodeSqlite from '@holdfast/turn-ledger/node-sqlite';
import * as postgresUrl from '@holdfast/turn-ledger/postgres-url';

it('exports these names and no others', () => {
  expect(Object.keys(ledger).toSorted()).toEqual([
    'EventGapError',
    'ExecutionNotUsableError',
    'LedgerInputError',
    'LedgerRowError',
    'LedgerTooNewError',
    'LedgerUnavailableError',
    'LedgerUrlError',
    'NestedTransactionError',
    'OrchestratorStep',
    'PgMissingError',
    'PromptLifecycle',
    'PromptsEndedError',
    'ReadyBus',
    'SessionAlreadyLiveError',
    'SessionExistsError',
    'SessionGuard',
    'TurnExistsError',
    'TurnOpenError',
    'UnknownSessionError',
    'initialPrompts',
    'judgeReady',
    'openLedger',
    'outcomeEffects',
    'reducePrompts',
  ]);
  expect(Object.keys(nodeSqlite).toSorted()).toEqual(['NodeSqliteMissingError', 'loadNodeSqlite']);
  expect(Object.keys(postgresUrl).toSorted()).toEqual(['isPostgresUrl', 'postgresPlace', 'withoutSecrets']);
});
