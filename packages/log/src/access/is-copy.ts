import type { MsgHdrs } from "@nats-io/transport-node";
import { HEADER } from "../nats/header.ts";
import { headerOf, type StoredMessage } from "../nats/stream-api.ts";

/*
 * The broker answers a request to any reply subject that it names, and stores what is answered to a subject of a stream: with a direct get, a
 * service could have any message that it may read stored where it may not publish. Such a copy has the headers of an answer, which no message
 * has that a service has published itself.
 */

/** Whether a message, as its stream's consumer hands it out, is the copy of another. */
export function isCopy(headers: MsgHdrs | undefined): boolean {
  return headers?.has(HEADER.stream) === true;
}

/** The same for a message as its leader tells it. */
export function isStoredCopy(message: StoredMessage): boolean {
  return headerOf(message, HEADER.stream) !== undefined;
}

/**
 * The same for a message that was directly read or republished: those have the headers of an answer once, of this stream and subject, and a
 * copy has those of another message too.
 */
export function isAnsweredCopy(
  headers: MsgHdrs | undefined,
  { stream, subject }: { readonly stream: string; readonly subject: string },
): boolean {
  const isOnly = (name: string, value: string) => {
    const values = headers?.values(name) ?? [];
    return values.length === 1 && values[0] === value;
  };
  return !isOnly(HEADER.stream, stream) || !isOnly(HEADER.subject, subject);
}
