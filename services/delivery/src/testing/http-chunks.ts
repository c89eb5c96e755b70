/** The body that a chunked coding carries, read strictly; and whether its end mark came. */
export function dechunk(coded: Buffer): { body: Buffer; complete: boolean } {
  const parts: Buffer[] = [];
  for (let at = 0; at < coded.length;) {
    const headEnd = coded.indexOf("\r\n", at);
    const head = coded.toString("latin1", at, headEnd);
    if (headEnd === -1 || !/^[0-9a-f]+$/.test(head))
      throw new Error(`not a chunk's head at ${at}: ${JSON.stringify(head)}`);
    const length = Number.parseInt(head, 16);
    const end = headEnd + 2 + length;
    if (coded.toString("latin1", end, end + 2) !== "\r\n")
      throw new Error(`the chunk at ${at} does not end where it says`);
    if (length === 0) return { body: Buffer.concat(parts), complete: true };
    parts.push(coded.subarray(headEnd + 2, end));
    at = end + 2;
  }
  return { body: Buffer.concat(parts), complete: false };
}
