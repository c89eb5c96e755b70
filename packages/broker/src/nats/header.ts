import type { Msg, MsgHdrs } from "@nats-io/transport-node";

/** Names of the NATS headers that the log reads and writes. */
export const HEADER = {
  /** Publish only if the subject's last message has this stream sequence; 0 for none. */
  expectedLastSubjectSequence: "Nats-Expected-Last-Subject-Sequence",
  messageId: "Nats-Msg-Id",
  /** On republished and directly read messages: the stream they are stored in. */
  stream: "Nats-Stream",
  /** On the same: the stream sequence. */
  sequence: "Nats-Sequence",
  /** On directly read messages: the subject, and when the broker stored it. */
  subject: "Nats-Subject",
  timeStamp: "Nats-Time-Stamp",
  /** On the end of a batch of them: how many more there are. */
  pending: "Nats-Num-Pending",
  /** Time for which a message is kept, if it differs from the stream's `max_age`: seconds, `24h0m0s` as the broker writes it, or `never`. */
  ttl: "Nats-TTL",
  /** Which appender wrote an event: unique per appender, so that an ambiguous publish can be told from another writer's. */
  writer: "Reprise-Writer",
  /** On a checkpoint: the stream sequence of the last event in it. */
  checkpointStreamSeq: "Reprise-Stream-Seq",
  /** On an empty message in a checkpoint's place: the generation was erased, even if its log still has events. */
  erased: "Reprise-Erased",
  /** On what belongs to a blob: which call has stored it, so that one whose answer was lost is told from another's. */
  attempt: "Reprise-Attempt",
  /** On a job: what its tenant may have of a model's slots. */
  share: "Reprise-Share",
  /** On a job: the span that has queued it, as W3C Trace Context writes it. */
  trace: "traceparent",
} as const;

/** Value of `HEADER.ttl` for messages that never expire. */
export const FOR_EVER = "never";

/**
 * The values that a message has under a name, in their order. The client's own `values` and `has` copy all names at each call, and three or four of them are called for each
 * message that is read.
 */
export function valuesOf(headers: MsgHdrs | undefined, name: string): readonly string[] | undefined {
  if (headers) for (const [key, values] of headers) if (key === name) return values;
  return undefined;
}

/*
 * A message's headers as the text that they came as. The client parses all headers of a message into a map of lists: for a reader of many messages, who needs four of them, that costs more than all else that it does
 * with a message.
 */

const FIRST_LINE = "NATS/1.0";
const END = "\r\n\r\n";
const CODE = { from: FIRST_LINE.length + 1, to: FIRST_LINE.length + 4 };

/** Method of the client's messages beyond its interface: the total length of subject, reply, headers and payload. */
interface Sized {
  size(): number;
}

/** Empty for a message without headers. */
export function headerTextOf(msg: Msg & Partial<Sized>): string {
  const { data, subject, reply = "" } = msg;
  // They came in front of the payload, and the client keeps the two in one piece. Where it does not, it is asked.
  const length = (msg.size?.() ?? 0) - data.length - subject.length - reply.length;
  const from = data.byteOffset - length;
  const text = length > 0 && from >= 0 ? Buffer.from(data.buffer, from, length).toString("latin1") : "";
  return text.startsWith(FIRST_LINE) && text.endsWith(END) ? text : toText(msg.headers);
}

function toText(headers: MsgHdrs | undefined): string {
  if (!headers) return "";
  const status = headers.code > 0 ? ` ${headers.code} ${headers.description}` : "";
  const lines = [...headers].flatMap(([name, values]) => values.map((value) => `${name}: ${value}\r\n`));
  return `${FIRST_LINE}${status}\r\n${lines.join("")}\r\n`;
}

/** The status that the broker answers with in place of a message; 0 for a message. */
export function codeIn(text: string): number {
  return Number.parseInt(text.slice(CODE.from, CODE.to), 10) || 0;
}

/** Broker headers come last. A republished message also carries the original's, so read the last one. */
export function lastIn(text: string, name: string): string | undefined {
  const at = text.lastIndexOf(`\r\n${name}:`);
  return at < 0 ? undefined : valueAt(text, at + name.length + 3);
}

export function hasIn(text: string, name: string): boolean {
  return text.includes(`\r\n${name}:`);
}

/** True if there is exactly one such header, with this value. */
export function isOnlyIn(text: string, name: string, value: string): boolean {
  const line = `\r\n${name}:`;
  const at = text.indexOf(line);
  return at >= 0 && text.lastIndexOf(line) === at && valueAt(text, at + line.length) === value;
}

function valueAt(text: string, from: number): string {
  return text.slice(from, text.indexOf("\r\n", from)).trim();
}
