const FILLER = "filler";

/**
 * The subject of a stream's filler, which makes the file with its newest messages full.
 * @param subjects what the stream stores, ending in `>`
 */
export function fillerSubject(subjects: string): string {
  return `${subjects.slice(0, -1)}${FILLER}`;
}

/** All other subjects have more tokens. */
export function isFillerSubject(subject: string): boolean {
  const tokens = subject.split(".");
  return tokens.length <= 3 && tokens.at(-1) === FILLER;
}
