import type { IncomingMessage } from "node:http";
import { bodyLengthOf, cutOff } from "../connections/http2.ts";
import { isInjected } from "../connections/injected.ts";
import { LARGE_BYTES, PacedReading } from "./paced-reading.ts";

/** Milliseconds that a client may continue to send a refused body. */
export const DISCARD_MS = 5_000;
/** Milliseconds between two chunks of 64 KB, over all large refused bodies together. */
const CHUNK_EVERY_MS = 4;

const pace = new PacedReading((next) => void setTimeout(next, CHUNK_EVERY_MS));

/**
 * Throws away the rest of a request that was answered from its headers. A connection that is closed while bytes are under way is reset,
 * and the client might lose the answer. A large body is read slowly: a flood that is refused is not read at the speed of its senders.
 * Most clients stop sending when they have the answer; one that is not through in time is cut off.
 * @returns for a large body, when that is over. The connection carries no further request, which would have to wait for it: it is to be
 *   closed then, and not before.
 */
export function discardBody(request: IncomingMessage, discardMs: number): Promise<void> | undefined {
  const length = bodyLengthOf(request);
  if (request.complete || request.destroyed || length === 0 || isInjected(request)) return undefined;
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  const late = setTimeout(() => cutOff(request), discardMs);
  request.once("close", () => {
    clearTimeout(late);
    resolve();
  });
  const isLarge = length === undefined || length > LARGE_BYTES;
  if (isLarge) pace.add(request);
  request.resume();
  // Over HTTP/2 the connection stays open.
  return isLarge && request.httpVersionMajor === 1 ? isOver : undefined;
}
