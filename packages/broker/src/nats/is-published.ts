import { headers as createHeaders, type MsgHdrs } from "@nats-io/transport-node";
import { hasIn, HEADER, isOnlyIn, valuesOf } from "./header.ts";
import { headerOf, type StoredMessage } from "./stream-api.ts";

/*
 * The broker answers a request at any reply subject that it names, and a stream stores what is answered to one of its subjects. So a service
 * can have stored, where it may not publish: a copy of a message that it may read (direct get), an empty message (the same for one that does
 * not exist), or JSON (an acknowledgement, or an answer of the API).
 *
 * A message of a process has a header of the publisher: its name, or the place that it expects to be the last. Of an answer only a copy has
 * it, together with the broker's `Nats-Stream`; a direct get that asks for no headers gives a copy without any.
 */

/** The value of `Reprise-Writer` of messages whose writer is of no interest. */
const ANY_WRITER = "-";

/** Headers for a message that is published without an acknowledgement. */
export function publishedHeaders(): MsgHdrs {
  const headers = createHeaders();
  headers.append(HEADER.writer, ANY_WRITER);
  return headers;
}

/** Makes sure that a message that is about to be published can be told from an answer of the broker. */
export function markPublished(headers: MsgHdrs): void {
  if (!hasPublisher(headers)) headers.append(HEADER.writer, ANY_WRITER);
}

/** True if a process has published a message, as its stream's consumer or a subscription to its subject hands it out. */
export function isPublished(headers: MsgHdrs | undefined): boolean {
  return headers !== undefined && hasPublisher(headers) && valuesOf(headers, HEADER.stream) === undefined;
}

/** The same for a message as its leader tells it. */
export function isStoredPublished(message: StoredMessage): boolean {
  const has = (name: string) => headerOf(message, name) !== undefined;
  return (has(HEADER.writer) || has(HEADER.expectedLastSubjectSequence)) && !has(HEADER.stream);
}

/**
 * The same for a message that was directly read or republished: those have the headers of an answer once, of this stream and subject, and a
 * copy has those of another message too.
 */
export function isAnsweredPublished(
  headers: MsgHdrs | undefined,
  { stream, subject }: { readonly stream: string; readonly subject: string },
): boolean {
  if (!headers || !hasPublisher(headers)) return false;
  const isOnly = (name: string, value: string) => {
    const values = valuesOf(headers, name);
    return values?.length === 1 && values[0] === value;
  };
  return isOnly(HEADER.stream, stream) && isOnly(HEADER.subject, subject);
}

/** The same, by its headers as text. */
export function isAnsweredPublishedIn(
  headers: string,
  { stream, subject }: { readonly stream: string; readonly subject: string },
): boolean {
  const isByProcess = hasIn(headers, HEADER.writer) || hasIn(headers, HEADER.expectedLastSubjectSequence);
  return (
    isByProcess && isOnlyIn(headers, HEADER.stream, stream) && isOnlyIn(headers, HEADER.subject, subject)
  );
}

function hasPublisher(headers: MsgHdrs): boolean {
  return (
    valuesOf(headers, HEADER.writer) !== undefined ||
    valuesOf(headers, HEADER.expectedLastSubjectSequence) !== undefined
  );
}
