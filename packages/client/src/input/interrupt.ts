import type { Generation } from "@reprise/protocol/wire";
import type { Client } from "../client.ts";

/** Before the first event. */
const START = "0-0";

/**
 * Ends what a generation says now: its events up to a cursor count, and no later ones. With streamed input the generation answers the next message, else it
 * completes. Can follow the end. Resolves when that is stored.
 * @param stream a stream, or an id and a cursor: of the last event that was heard. A stream's cursor is that of the last event handed out
 */
export async function interrupt(
  { transport }: Client,
  { id, cursor = START }: { readonly id: string | undefined; readonly cursor?: string | undefined },
  { signal }: { signal?: AbortSignal } = {},
): Promise<Generation> {
  const path = `/v1/generations/${transport.segment(id ?? "")}/interrupt`;
  return transport.call({ method: "POST", path, body: JSON.stringify({ heard: cursor }) }, signal);
}
