import { asSeq } from "@reprise/protocol";
import type { GenerationCache } from "../hub/cache/generation-cache.ts";

/**
 * Reads a cache's frames as a reader does, from `seq` on, until the generation has ended.
 * @returns the frames' bytes as text
 */
export async function follow(cache: GenerationCache, seq = 1): Promise<string> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  let next = seq;
  const read = () => {
    for (let view = cache.shown.view(asSeq(next), 8_192); view; view = cache.shown.view(asSeq(next), 8_192)) {
      text += view.bytes.toString();
      next = view.next;
    }
    if (cache.failure) reject(cache.failure);
    else if (cache.isOver && next > cache.lastSeq) resolve(text);
  };
  const stop = cache.listen(read);
  read();
  try {
    return await ended;
  } finally {
    stop();
  }
}

/** The result of `follow` for a log of these texts that was requested, started, written and completed. */
export function framesOf(payloads: readonly Uint8Array[]): string {
  return payloads
    .map((payload, i) => (i === 0 ? "" : `1-${i}\n${Buffer.from(payload).toString()}\n`))
    .join("");
}
