import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";

export interface PiecesUpload {
  readonly key: string;
  /** Sent again and again. */
  readonly piece: Buffer;
  readonly bytes: number;
  /** Called, and waited for, each time that a MiB has left. */
  readonly sample?: () => unknown;
}

const MIB = 1_024 * 1_024;

/**
 * Uploads a blob in one request that this process never holds whole: as fast as it is taken.
 * @returns its id
 * @throws Error with the answer where that is no blob
 */
export async function uploadPieces(
  url: string,
  { key, piece, bytes, sample = () => {} }: PiecesUpload,
): Promise<string> {
  const request = httpRequest(`${url}/v1/blobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "text/plain", "content-length": `${bytes}` },
  });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  for (let sent = 0; sent < bytes; sent += piece.length) {
    if (!request.write(piece)) await Promise.race([once(request, "drain"), answered]);
    if (sent % MIB === 0) await sample();
  }
  request.end();
  const [response] = await answered;
  const answer = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
  if (response.statusCode !== 200 && response.statusCode !== 201) throw new Error(answer);
  return (JSON.parse(answer) as { id: string }).id;
}
