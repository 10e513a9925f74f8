// The code that swc makes of `await using` names this class wrongly, so an error in a test that is followed by one in its
// clean-up would show as "_SuppressedError is not defined" instead of both.
globalThis._SuppressedError = SuppressedError;
