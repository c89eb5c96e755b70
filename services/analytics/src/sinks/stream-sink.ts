import type { Publish } from "@reprise/broker";
import { parseTenantId, RepriseError, usageSubject } from "@reprise/protocol";
import type { UsageSink } from "./usage-sink.ts";

/**
 * The stream USAGE, a message for each event under `usage.<tenant>`, in JSON. Its id is that of the event: what comes again within the stream's duplicate window is not stored again.
 * @param publish stores with the id of a message
 */
export function createStreamSink(publish: Publish): UsageSink {
  return {
    name: "stream",
    async deliver({ events }, signal) {
      // One after another: what is stored keeps its order also where one of them has to be published again.
      for (const event of events) {
        signal.throwIfAborted();
        const outcome = await publish(
          usageSubject(parseTenantId(event.subject)),
          Buffer.from(JSON.stringify(event)),
          { messageId: event.id, extra: { "content-type": "application/cloudevents+json" } },
        );
        if (outcome.kind === "stored") continue;
        const reason = outcome.kind === "unavailable" ? (outcome.detail ?? outcome.reason) : outcome.kind;
        throw new RepriseError(
          "broker_unavailable",
          `The stream of usage has not taken an event: ${reason}.`,
        );
      }
    },
  };
}
