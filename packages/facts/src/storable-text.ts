/** Text that every database takes: U+FFFD in the place of half a surrogate pair, be it a client's or what a cut has left, and of NUL, which SQL databases refuse. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
