import { inspect } from 'node:util';

/** An error of a test that is followed by one of its clean-up: jest shows no more of it than its message, so both stand there. */
class BothErrors extends SuppressedError {
  constructor(error, suppressed, message = 'An error was suppressed during disposal.') {
    super(
      error,
      suppressed,
      `${message}\nFirst: ${inspect(suppressed)}\nThen, while cleaning up: ${inspect(error)}`,
    );
  }
}

// The code that swc makes of `await using` names the class wrongly, and would show "_SuppressedError is not defined" instead.
globalThis._SuppressedError = BothErrors;
