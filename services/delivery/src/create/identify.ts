import { isDeepStrictEqual } from "node:util";
import type { GenerationLog } from "@reprise/stream";
import { type GenerationRequest, RepriseError, type RequestedEvent } from "@reprise/protocol";
import { toRequested } from "../domain/to-requested.ts";
import type { Step } from "./run-steps.ts";

/**
 * Finds the generation that the idempotency key identifies.
 * @throws RepriseError `idempotency_conflict`, `generation_expired`, `generation_erased`, `cursor_invalid` (nothing to resume), `broker_unavailable`
 */
export function identify({ log }: { readonly log: Pick<GenerationLog, "reader"> }): Step {
  return {
    name: "identify",
    async run(creating) {
      const { asked, idempotencyKey, ref, sent } = creating;
      const first = idempotencyKey === undefined ? undefined : await log.reader.readFirst(ref);
      if (first) {
        const requested = assertSameRequest(toRequested(first.payload), sent);
        creating.created = { requested, joined: true, first };
        return;
      }
      if (asked.joinOnly) throw nothingToResume();
    },
  };
}

/** Compares requests as they would be stored: JSON has no -0, and a turn may leave its conversation's owners out. */
export function assertSameRequest(existing: RequestedEvent, sent: GenerationRequest): RequestedEvent {
  const { subject, end_user } = existing.request;
  const owner = sent.conversation === undefined ? {} : { subject, end_user };
  if (isDeepStrictEqual(existing.request, JSON.parse(JSON.stringify({ ...owner, ...sent })))) return existing;
  throw new RepriseError("idempotency_conflict", "This Idempotency-Key was used with a different request.", {
    param: "Idempotency-Key",
  });
}

function nothingToResume(): RepriseError {
  const message = "Nothing was created with this Idempotency-Key that could be resumed.";
  return new RepriseError("cursor_invalid", message, { param: "Last-Event-ID" });
}
