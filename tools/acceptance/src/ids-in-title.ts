/**
 * The ids that a test title carries in square brackets, as they are written: `[SURVIVAL-001.1, SURVIVAL-001.2]` gives
 * two. Brackets that mention no id at all (`[1, 2]`) are ordinary text. What is no exact id of the list is given too, for
 * the caller to reject: a misspelt id must not pass as ordinary text.
 */
export function idsInTitle(title: string, knownIds: ReadonlySet<string>): string[] {
  const prefixes = [...new Set([...knownIds].map((id) => id.slice(0, id.indexOf('-') + 1)))];
  const mentionsId = (text: string): boolean =>
    /[A-Z]{3,}-\d/.test(text) || prefixes.some((prefix) => text.toUpperCase().includes(prefix));
  return [...title.matchAll(/\[([^[\]]*)\]/g)]
    .map((match) => match[1] ?? '')
    .filter((text) => mentionsId(text))
    .flatMap((text) => text.split(',').map((part) => part.trim()));
}
