import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { parseJobSubject, queuedSubject } from "@reprise/protocol";
import { isPublished, type DeliveryInfo, readAckSubject, HEADER, inboxOf } from "@reprise/broker";
import type { Job } from "./job.ts";
import { parseShare, type TenantShare } from "../shares/tenant-share.ts";

/** A job without the slot that it is run in, where its lane was when it came, and what its tenant may have. */
export type DeliveredJob = Omit<Job, "park" | "hasRoomToWait" | "unpark" | "setYield" | "hasLostSlot"> &
  DeliveryInfo & { readonly share: TenantShare | undefined };

const ACK_TIMEOUT_MS = 2_000;

/** Undefined for what is not a job; the broker is told to forget it, for it would come back for ever. */
export function toDeliveredJob(connection: NatsConnection, msg: Msg): DeliveredJob | undefined {
  const { reply = "" } = msg;
  const named = isPublished(msg.headers) ? readSubject(msg.subject) : undefined;
  if (!named) {
    connection.publish(reply, "+TERM");
    return undefined;
  }
  const { model, tenant, generation, priority } = named;
  const ref = { tenant, generation };
  // Once the connection is closed, silence has the same effect, only later.
  const say = (subject: string, word?: string) => {
    if (!connection.isClosed() && !connection.isDraining()) connection.publish(subject, word);
  };
  let payload: Uint8Array | (() => Uint8Array) = Uint8Array.from(msg.data);
  return {
    ref,
    model,
    priority,
    get payload() {
      return typeof payload === "function" ? payload() : payload;
    },
    holdPayloadAt(read) {
      payload = read;
    },
    ...readAckSubject(reply),
    trace: msg.headers?.get(HEADER.trace) || undefined,
    share: parseShare(msg.headers?.get(HEADER.share) ?? ""),
    working: () => say(reply, "+WPI"),
    async ack() {
      // Without an answer the broker is away, or has lost the job. It comes back if it is there, and is found to be done.
      await inboxOf(connection).ask(reply, "+ACK", ACK_TIMEOUT_MS);
    },
    release(delayMs = 0) {
      // With a delay, be it 0, the broker lets its timer queue the job again, at the earliest after 10 ms.
      say(reply, delayMs === 0 ? "-NAK" : `-NAK {"delay": ${delayMs * 1_000_000}}`);
      // The other workers may not know of any job in its lane. One that comes later is found by their next listing.
      if (delayMs === 0) say(queuedSubject(model, ref, priority));
    },
  };
}

function readSubject(subject: string) {
  try {
    return parseJobSubject(subject);
  } catch {
    return undefined;
  }
}
