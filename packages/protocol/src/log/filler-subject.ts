const FILLER = "filler";

/**
 * Where a stream takes what is nobody's, so that the file which its newest messages lie in becomes full.
 * @param subjects what the stream stores, ending in `>`
 */
export function fillerSubject(subjects: string): string {
  return `${subjects.slice(0, -1)}${FILLER}`;
}

/** Everybody's subjects have more tokens. */
export function isFillerSubject(subject: string): boolean {
  const tokens = subject.split(".");
  return tokens.length <= 3 && tokens.at(-1) === FILLER;
}
