/**
 * The bare side: `bare-adoption.ts HOME` makes the HTTP calls and the durable writes of an adoption, in the same order, with
 * no schema, no retry, no limit and no decision. It tells its `AdoptionTimes` and waits to be killed.
 */
import type { AdoptionTimes } from './adoption-times.ts';
import { prove, request, type BareAnswers } from './bare-server.ts';
import { BareStore } from './bare-store.ts';

const [, , home = ''] = process.argv;
const startedAt = performance.now();
const store = new BareStore(home);
const executions = store.liveExecutions();
const contactAt = performance.now();

const { endpoint, credentialRef } = store.readRecord();
const { serverId, capabilities } = await request<BareAnswers['identity']>(endpoint, 'GET', '/identity');
const superseded = await store.readSecret(credentialRef);
await prove(endpoint, serverId, superseded);
const { logFile, startedAt: serverStartedAt } = await request<BareAnswers['ownership']>(
  endpoint,
  'GET',
  '/ownership',
  { credential: superseded },
);
const { credential, rotationId } = await request<BareAnswers['rotation']>(
  endpoint,
  'POST',
  '/ownership/rotate',
  { credential: superseded },
);
await prove(endpoint, serverId, credential);
const replacement = await store.writeSecret(credential);
store.writeRecord({
  serverId,
  credentialRef: replacement,
  capabilities,
  logFile,
  startedAt: serverStartedAt,
});
await request(endpoint, 'POST', '/ownership/confirm', { credential, body: { rotationId } });
await store.removeSecret(credentialRef);

const { instances } = await request<BareAnswers['instances']>(endpoint, 'GET', '/instances', { credential });
const own = instances.filter(({ executionId }) => executions.has(executionId));
await Promise.all(
  own.flatMap(({ instanceId }) =>
    ['reconstruction', 'turn'].map(
      async (what) => await request(endpoint, 'GET', `/instances/${instanceId}/${what}`, { credential }),
    ),
  ),
);

const doneAt = performance.now();
const times: AdoptionTimes = {
  recoveryMs: doneAt - contactAt,
  wholeMs: doneAt - startedAt,
  instances: own.length,
};
process.stdout.write(`${JSON.stringify(times)}\n`);
process.stdin.resume();
