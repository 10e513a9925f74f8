/** What was thrown, in words, for the detail of an event or of an outcome. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
