import type { Readable } from "node:stream";

/** The last `maxChars` of what a stream says, once it has ended: no more of it is kept meanwhile. */
export async function readEnd(stream: Readable, maxChars: number): Promise<string> {
  let end = "";
  for await (const piece of stream.setEncoding("utf8")) end = (end + String(piece)).slice(-maxChars);
  return end;
}
