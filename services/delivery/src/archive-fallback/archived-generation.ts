import { decodeEvent, type Generation, START, MediaTranscript, REQUEST_SEQ } from "@reprise/protocol";
import { toGeneration } from "../domain/to-generation.ts";
import { toRequested } from "../domain/to-requested.ts";
import { type ArchivedLog, readArchived } from "./archived-events.ts";
import { Replay } from "./replay.ts";

/**
 * Reads a generation from its archived log, in the form that the API returns. Pages are folded one by one; only the text stays in memory.
 * @throws RepriseError as `Replay.open`
 */
export async function readArchivedGeneration(log: ArchivedLog): Promise<Generation> {
  const { events } = await readArchived({ ...log, original: true }, REQUEST_SEQ, 1);
  const replay = await Replay.open(log, { cursor: START, param: "after", withRequest: false });
  const transcript = new MediaTranscript({ original: log.original });
  for (let page = await replay.next(); page.length > 0; page = await replay.next())
    for (const { payload } of page) transcript.apply(decodeEvent(payload));
  return toGeneration(log.ref.generation, toRequested(events[0]?.payload), transcript);
}
