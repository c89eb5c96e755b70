import type { Tail } from "../tail.ts";

/**
 * Reads a tail's frames as a reader does, from `seq` on, until the generation has ended.
 * @returns the frames' bytes as text
 */
export async function follow(tail: Tail, seq = 1): Promise<string> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  let next = seq;
  const read = () => {
    for (let view = tail.view(next, 8_192); view; view = tail.view(next, 8_192)) {
      text += view.bytes.toString();
      next = view.next;
    }
    if (tail.failure) reject(tail.failure);
    else if (tail.isOver && next > tail.lastSeq) resolve(text);
  };
  const stop = tail.listen(read);
  read();
  try {
    return await ended;
  } finally {
    stop();
  }
}

/** What `follow` returns for a log of these texts that was requested, started, written and completed. */
export function framesOf(payloads: readonly Uint8Array[]): string {
  return payloads
    .map((payload, i) => (i === 0 ? "" : `1-${i}\n${Buffer.from(payload).toString()}\n`))
    .join("");
}
