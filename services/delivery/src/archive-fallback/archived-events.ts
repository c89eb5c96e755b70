import type { ArchivedEvents, AuditClient } from "@reprise/broker";
import { type GenerationRef, RepriseError, type Seq } from "@reprise/protocol";

/** One generation in the archive. */
export interface ArchivedLog {
  readonly audit: Pick<AuditClient, "events">;
  readonly ref: GenerationRef;
  /** Text as it was generated, instead of what a reader that comes now is shown. */
  readonly original: boolean;
}

/**
 * Archived events from a place on: as many as fit, and one at least, if there are any.
 * @throws RepriseError `cursor_expired` where the archive has a hole, as a log that has lost its beginning; what `AuditClient` throws
 */
export async function readArchived(
  { audit, ref, original }: ArchivedLog,
  fromSeq: Seq,
  maxBytes: number,
): Promise<ArchivedEvents> {
  const page = await audit.events({ ...ref, from_seq: fromSeq, max_bytes: maxBytes, original });
  const [first] = page.events;
  if (first ? first.seq < fromSeq : page.more)
    throw new RepriseError(
      "protocol_violation",
      "The audit log has answered with other events than were asked for.",
    );
  if (first && first.seq > fromSeq)
    throw new RepriseError("cursor_expired", "The archive lacks the events after this cursor.");
  return page;
}
