import { encodeCursor } from "@reprise/protocol";
import { encodeEventPage } from "../domain/event-page.ts";
import type { ArchivedLog } from "./archived-events.ts";
import { Replay, type ReplayStart, unfinished } from "./replay.ts";

/**
 * A page of archived events, as JSON text of the same form as the live log's. There is no long-poll here: an empty page of a
 * generation without an end is an error that tells when to ask again.
 * @param limit the most events, 1 to 1,000; a page may hold fewer though there are more
 * @throws RepriseError as `Replay.open`; `audit_unavailable`
 */
export async function readArchivedPage(
  log: ArchivedLog,
  { limit, ...start }: ReplayStart & { limit: number },
): Promise<string> {
  const replay = await Replay.open(log, start);
  const read = await replay.next();
  const events = read.slice(0, limit);
  const ended = events.length === read.length && replay.isExhausted && (await replay.hasEnded());
  if (events.length === 0 && !ended) throw unfinished();
  const cursor = events.at(-1)?.cursor ?? encodeCursor(start.cursor);
  const payloads = events.map(({ payload }) => payload);
  return encodeEventPage(payloads, { cursor, ended });
}
