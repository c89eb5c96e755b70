import type { RuleFinding, Scanner } from "@reprise/moderation";

/** Text may be judged piece by piece: each `next` judges one, and others may go before the following. */
export type Judging<T = void> = Generator<void, T, void>;

/** Gives a text to its scanner, at most `pieceLength` UTF-16 units at a time. */
export function* pushInPieces(
  scanner: Pick<Scanner, "push">,
  text: string,
  pieceLength: number,
): Judging<readonly RuleFinding[]> {
  if (text.length <= pieceLength) return scanner.push(text);
  const found: RuleFinding[] = [];
  for (let at = 0; at < text.length; at += pieceLength) {
    found.push(...scanner.push(text.slice(at, at + pieceLength)));
    yield;
  }
  return found;
}

/** Judges all of it at once. */
export function drain<T>(judging: Judging<T>): T {
  for (;;) {
    const { done, value } = judging.next();
    if (done) return value;
  }
}
