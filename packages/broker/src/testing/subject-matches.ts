/** True if a subject matches a pattern with wildcards. */
export function matches(pattern: string, subject: string): boolean {
  const [wanted, words] = [pattern.split("."), subject.split(".")];
  const isOpen = wanted.at(-1) === ">";
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  const fits = isOpen ? words.length > fixed.length : words.length === fixed.length;
  return fits && fixed.every((word, i) => word === "*" || word === words[i]);
}
