import type { LogLayout, PlacedSegment } from "@reprise/archive";
import type { AuditGeneration } from "@reprise/protocol";
import type { FoundGeneration } from "./search-generations.ts";

/** Returns the list entry of a generation. @param erasedAt the time when its keys were destroyed, ISO 8601 */
export function toAuditGeneration(found: FoundGeneration, erasedAt: string | undefined): AuditGeneration {
  const { generation, createdUs, lastUs, model, status, events } = found;
  return {
    id: generation,
    object: "audit.generation",
    created_at: toIsoTime(createdUs),
    model,
    status: status as AuditGeneration["status"],
    events,
    last_at: toIsoTime(lastUs),
    ...(erasedAt !== undefined && { erased_at: erasedAt }),
  };
}

/** The same of one generation as a search finds of many. @param layout with at least one range */
export function toFoundGeneration({
  stretches,
}: Pick<LogLayout<PlacedSegment>, "stretches">): FoundGeneration {
  const headers = stretches.map(({ segment }) => segment.header);
  const whole = stretches.filter(({ segment, toSeq }) => toSeq === segment.header.last_seq);
  return {
    // A layout has at least one range, so there is a first header and a last stretch.
    generation: headers[0]!.generation,
    createdUs: Math.min(...headers.map(({ first_at }) => first_at)),
    lastUs: Math.max(...headers.map(({ last_at }) => last_at)),
    model: headers.find(({ model }) => model !== undefined)?.model ?? "",
    status: whole.findLast(({ segment }) => segment.header.status)?.segment.header.status ?? "open",
    // As above.
    events: stretches.at(-1)!.toSeq + 1,
  };
}

function toIsoTime(us: number): string {
  return new Date(us / 1_000).toISOString();
}
