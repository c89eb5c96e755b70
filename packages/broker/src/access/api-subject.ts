/*
 * The subjects of JetStream's API that services use: what their users are permitted is told in these terms, in `access/permissions.ts`.
 */

export const ACCOUNT_INFO = "$JS.API.INFO";

export type StreamCall = "INFO" | "MSG.GET" | "MSG.DELETE" | "PURGE";

export function streamCall(call: StreamCall, stream: string): string {
  return `$JS.API.STREAM.${call}.${stream}`;
}

/** Batches of a stream's messages. */
export function directGet(stream: string): string {
  return `$JS.API.DIRECT.GET.${stream}`;
}

/** A subject's last message. */
export function directGetLast(stream: string, subject: string): string {
  return `$JS.API.DIRECT.GET.${stream}.${subject}`;
}

const CONSUMER_API = "$JS.API.CONSUMER.";
type ConsumerCall = "INFO" | "MSG.NEXT" | "UNPIN" | "DELETE";

export function consumerCall(call: ConsumerCall, stream: string, consumer: string): string {
  return `${CONSUMER_API}${call}.${stream}.${consumer}`;
}

/** All consumers of a stream, a page at a time. */
export function consumerList(stream: string): string {
  return `${CONSUMER_API}LIST.${stream}`;
}

/** @param filter what the consumer selects; default: all that the stream stores */
export function consumerCreate(stream: string, consumer: string, filter?: string): string {
  const call = `${CONSUMER_API}CREATE.${stream}.${consumer}`;
  return filter === undefined ? call : `${call}.${filter}`;
}

/** Acknowledgements of all messages of a stream's consumers, in both forms: the longer one begins with the domain and the account. */
export function ackSubjects(stream: string, consumer: string): string[] {
  return [`$JS.ACK.${stream}.${consumer}.>`, `$JS.ACK.*.*.${stream}.${consumer}.>`];
}

/** True if a call has more than one answer: a batch, or a pull. */
export function isAnsweredOften(subject: string): boolean {
  return subject.startsWith(`${CONSUMER_API}${"MSG.NEXT" satisfies ConsumerCall}.`) || BATCH.test(subject);
}

const BATCH = /^\$JS\.API\.DIRECT\.GET\.[^.]+$/;
