import type { PublishOutcome } from "@reprise/broker";

/** Kind of a read: a subject's last message, or the messages after a place. */
export type LogRead = "last" | "batch";

/** Is told how long the broker takes, with each answer or its absence. It has to be short, and must not throw. */
export interface LogObserver {
  /** An event was published. */
  appended(outcome: PublishOutcome["kind"], ms: number): void;
  checkpointed(outcome: PublishOutcome["kind"]): void;
  read(kind: LogRead, ms: number): void;
}
