import { describe } from '@jest/globals';
import type { AgentPlace } from './agent-place.ts';
import { describeFailures } from './suites/failures.ts';
import { describeGivingUp } from './suites/giving-up.ts';
import { describeMending } from './suites/mending.ts';
import { describeRetryThatFails } from './suites/retry-that-fails.ts';
import { describeSharing } from './suites/sharing.ts';

/**
 * What is asked of every runtime on which npm's installed copies of agents are repaired, with the npm that is where its agents run.
 * A place is asked for once for every test.
 */
export function describeManagedRuntime(name: string, makePlace: () => Promise<AgentPlace>): void {
  describe(name, () => {
    describeMending(makePlace);
    describeRetryThatFails(makePlace);
    describeGivingUp(makePlace);
    describeSharing(makePlace);
    describeFailures(makePlace);
  });
}
