import type { Upstream } from "../upstream.ts";

/**
 * Asks a server whether it is there. Any answer but a failure of its own will do: not all servers have the path.
 * @returns why it is not; undefined where it is
 */
export async function probe(
  upstream: Pick<Upstream, "get">,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const answer = await upstream.get(path, signal);
    answer.release(false);
    return answer.status >= 500 ? `The probe was answered ${answer.status}.` : undefined;
  } catch (error) {
    if (signal.aborted) return "The probe was not answered in time.";
    return error instanceof Error ? error.message : "The probe has failed.";
  }
}
