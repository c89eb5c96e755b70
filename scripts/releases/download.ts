import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { setGlobalProxyFromEnv } from "node:http";

/** A file that arrived and is not the one that was pinned. */
export class WrongSumError extends Error {}

export interface DownloadOptions {
  /** Lower-case hex. */
  readonly sha256: string;
  /** How long the server may send nothing, before its answer and within it. */
  readonly stallMs?: number;
  readonly maxBytes?: number;
}

const STALL_MS = 30_000;
/** Several times the largest archive. A server that never stops sending fills no disk. */
const MAX_BYTES = 512 * 1_024 ** 2;

/**
 * Downloads a file by HTTP, through the proxy that the environment names, and follows redirects: the sum, not the server, says whether
 * the file is the right one. What is in `target` is only to be used when this has returned.
 *
 * @throws WrongSumError when all of it came and its sum is another; Error, which names the address, when it did not come
 */
export async function download(
  url: string,
  target: string,
  { sha256, stallMs = STALL_MS, maxBytes = MAX_BYTES }: DownloadOptions,
): Promise<void> {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), stallMs);
  const resetProxy = setGlobalProxyFromEnv();
  try {
    const response = await fetch(url, { signal: stall.signal });
    if (!response.ok || response.body === null) throw new Error(`it answered ${response.status}`);
    const sum = createHash("sha256");
    let bytes = 0;
    await using file = await open(target, "w");
    for await (const chunk of response.body) {
      timer.refresh();
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new Error(`it sent more than ${maxBytes} bytes`);
      sum.update(chunk);
      await file.writeFile(chunk);
    }
    const found = sum.digest("hex");
    if (found !== sha256)
      throw new WrongSumError(
        `${url} has the SHA-256 ${found} and not ${sha256}: it is not the pinned release`,
      );
  } catch (error) {
    if (error instanceof WrongSumError) throw error;
    const why = stall.signal.aborted ? `it sent nothing for ${stallMs} ms` : reason(error);
    throw new Error(`${url} can't be downloaded: ${why}`, { cause: error });
  } finally {
    clearTimeout(timer);
    resetProxy();
  }
}

/** Without a connection, `fetch` itself says no more than that it failed. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // A refusal of several addresses has a code and no message.
  return cause.message || String(Reflect.get(cause, "code"));
}
