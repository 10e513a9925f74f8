import { describe, expect, it } from '@jest/globals';

async function failTwice(): Promise<void> {
  await using _ = {
    [Symbol.asyncDispose]: async () => {
      await Promise.reject(new Error('the clean-up failed as well'));
    },
  };
  await Promise.reject(new Error('the test failed'));
}

describe('a test that fails, and whose clean-up fails', () => {
  it('tells of both', async () => {
    const error: unknown = await failTwice().catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      error: { message: 'the clean-up failed as well' },
      suppressed: { message: 'the test failed' },
    });
    expect(String(error)).toMatch(
      /First: Error: the test failed\n {4}at [^]*\nThen, while cleaning up: Error: the clean-up failed as well\n {4}at /,
    );
  });
});
