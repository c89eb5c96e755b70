import type { ConnectionTap } from "../network/tcp-pump.ts";
import { NatsScanner } from "../broker/nats-scanner.ts";

/** One message that the broker has acknowledged as stored. */
export interface AckedMessage {
  readonly subject: string;
  readonly payload: string;
  readonly stream: string;
  readonly streamSeq: number;
  /** The party whose publish it was: as its tap was named. */
  readonly by: string;
  /** When the broker's answer passed by, whether or not it arrived. By `performance.now()`. */
  readonly at: number;
}

/** The messages that a broker has acknowledged to all tapped connections, by subject. */
export interface AckLedger {
  /** For one more connection, of the party that is named. */
  tap(by: string): ConnectionTap;
  /** In the order of the acknowledgements. */
  of(subject: string): readonly AckedMessage[];
  /** Resolves with the next acknowledgement that fits. */
  next(fits: (message: AckedMessage) => boolean): Promise<AckedMessage>;
  /** To go back to with `rollBack`. */
  mark(): number;
  /** Discards acknowledgements since the mark: the store went back to its state of then. */
  rollBack(mark: number): void;
  /** Lets go of a subject that has been judged. */
  forget(subject: string): void;
}

interface Entry extends AckedMessage {
  readonly number: number;
}

interface Waiting {
  readonly fits: (message: AckedMessage) => boolean;
  readonly resolve: (message: AckedMessage) => void;
}

/**
 * Keeps what a broker has said that it stored, as it passes by between the broker and its clients: independent of what a test
 * reads out of the broker later, and of whether the answer ever arrived.
 *
 * @param isKept whether a subject's messages are of interest
 */
export function createAckLedger(isKept: (subject: string) => boolean): AckLedger {
  const acked = new Map<string, Entry[]>();
  let waiting: Waiting[] = [];
  let numbered = 0;

  function keep(message: Omit<Entry, "number" | "at">): void {
    const entry: Entry = { ...message, number: ++numbered, at: performance.now() };
    const entries = acked.get(entry.subject);
    if (entries) entries.push(entry);
    else acked.set(entry.subject, [entry]);
    const ready = waiting.filter(({ fits }) => fits(entry));
    if (ready.length === 0) return;
    waiting = waiting.filter((each) => !ready.includes(each));
    for (const { resolve } of ready) resolve(entry);
  }

  return {
    tap(by) {
      const published = new Map<string, { subject: string; payload: string }>();
      const toServer = new NatsScanner({
        wants: (subject, reply) => reply !== "" && isKept(subject),
        onMessage: ({ subject, reply, payload }) =>
          void published.set(reply, { subject, payload: payload.toString() }),
      });
      const toClient = new NatsScanner({
        wants: (subject) => published.has(subject),
        onMessage: ({ subject: reply, payload }) => {
          const message = published.get(reply)!;
          published.delete(reply);
          const ack = parseAck(payload);
          if (ack) keep({ ...message, ...ack, by });
        },
      });
      return {
        toServer: (bytes) => toServer.push(bytes),
        toClient: (bytes) => toClient.push(bytes),
      };
    },
    of: (subject) => acked.get(subject) ?? [],
    next(fits) {
      const { promise, resolve } = Promise.withResolvers<AckedMessage>();
      waiting.push({ fits, resolve });
      return promise;
    },
    mark: () => numbered,
    rollBack(mark) {
      for (const [subject, entries] of acked)
        acked.set(
          subject,
          entries.filter(({ number }) => number <= mark),
        );
    },
    forget: (subject) => void acked.delete(subject),
  };
}

/** A JetStream acknowledgement; undefined for a refusal, and for the broker's answer that the subject has no listener. */
function parseAck(payload: Buffer): { stream: string; streamSeq: number } | undefined {
  if (payload.length === 0) return undefined;
  const { stream, seq, error } = JSON.parse(payload.toString()) as {
    stream?: string;
    seq?: number;
    error?: unknown;
  };
  return error === undefined && stream !== undefined && seq !== undefined
    ? { stream, streamSeq: seq }
    : undefined;
}
