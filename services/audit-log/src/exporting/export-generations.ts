import type { ArchiveReader } from "@reprise/archive";
import { type AuditSearch, type GenerationRef, parseGenerationId } from "@reprise/protocol";
import { inputJson } from "../replaying/replay-format.ts";
import { shownEvents } from "../answering/shown-events.ts";
import type { ArchiveSearch } from "../search/archive-search.ts";
import type { RowFile } from "./row-file.ts";

export interface ExportOptions {
  reader: ArchiveReader;
  search: Pick<ArchiveSearch, "search">;
  /** Which generations; `limit` is how many are listed at a time. */
  query: AuditSearch;
  /** Text as it was generated, seq 0 and streamed input, instead of what a reader that comes now is shown. */
  original: boolean;
}

export interface ExportOutcome {
  /** That were written. */
  readonly generations: number;
  readonly events: number;
  /** Nothing of them can be read any more. */
  readonly erased: readonly string[];
  /** Events of them are not in the archive: nothing of them was written. */
  readonly incomplete: readonly string[];
}

/**
 * Writes the events of the generations that a search finds, newest generation first, each in the order of its log.
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`, `invalid_request`
 */
export async function exportGenerations(
  { reader, search, query, original }: ExportOptions,
  file: Pick<RowFile, "write">,
): Promise<ExportOutcome> {
  const erased: string[] = [];
  const incomplete: string[] = [];
  let generations = 0;
  let events = 0;
  for await (const { id, erased_at: erasedAt } of listAll(search, query)) {
    const ref: GenerationRef = { tenant: query.tenant, generation: parseGenerationId(id) };
    const layout = await reader.logOf(ref);
    if (erasedAt !== undefined) erased.push(id);
    else if (layout.holes.length > 0 || (original && (await reader.inputHoleOf(ref)))) incomplete.push(id);
    else {
      generations++;
      // Cursors are not exported, and what was generated needs no second pass over the log.
      const log = original ? reader.events(ref, { layout }) : shownEvents(reader, ref, { original, layout });
      for await (const { seq, storedAtUs, payload } of log) {
        events++;
        const event = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
        await file.write({ ...ref, seq, atUs: storedAtUs, event });
      }
      if (!original) continue;
      for await (const input of reader.inputOf(ref)) {
        events++;
        await file.write({ ...ref, seq: input.seq, atUs: input.storedAtUs, event: inputJson(input) });
      }
    }
  }
  return { generations, events, erased, incomplete };
}

async function* listAll(search: Pick<ArchiveSearch, "search">, query: AuditSearch) {
  let after = query.after;
  do {
    const page = await search.search({ ...query, ...(after !== undefined && { after }) });
    yield* page.data;
    after = page.next;
  } while (after !== undefined);
}
