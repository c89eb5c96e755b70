import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import {
  type GenerationRef,
  logSubject,
  RepriseError,
  type StreamSeq,
  STREAM_START,
} from "@reprise/protocol";
import { type Publish, createWriterName, ifUnavailable } from "@reprise/broker";
import { waitUntilBegun } from "../read/wait-until-begun.ts";

export interface BeginLogOptions<Log> {
  /** Carries the live feed. */
  readonly connection: NatsConnection;
  readonly onError: (error: unknown) => void;
  readonly publish: Publish;
  readonly ref: GenerationRef;
  /** The seq-0 event. */
  readonly payload: Uint8Array;
  /**
   * First step. `publish`: no other writer is expected. `read`: another writer may have been faster. `wait`: another writer is about to write, and
   * gets a second for it.
   */
  readonly first: "publish" | "read" | "wait";
  /** Reads what is of interest of the log; undefined while that has no event. */
  readonly read: () => Promise<Log | undefined>;
  /** The same from the log's leader, after a conflict. Default `read`. */
  readonly readLeader?: () => Promise<Log | undefined>;
  /** Milliseconds to keep trying while the broker does not answer. */
  readonly budgetMs: number;
}

/** A log that has begun: with the event of this call, or with what was read. */
export type BegunLog<Log> =
  | { readonly kind: "written"; readonly streamSeq: StreamSeq }
  | { readonly kind: "found"; readonly log: Log };

/** No event tells of a new leader. */
const NO_LEADER_PAUSE_MS = 50;

/**
 * Writes a generation's seq 0, unless it is there. Its creator and the worker that has its job both do so, at about the same time, and so
 * may several creates with one key; the compare-and-set lets one of them win.
 *
 * A conflict says that seq 0 is stored, or about to be: the leader has it, or the live feed tells when it has. After a publish without an
 * answer it may be stored all the same, so the log is read before the next one.
 * @throws RepriseError `broker_unavailable` when the budget is used up; what `read` throws but that
 */
export async function beginLog<Log>(options: BeginLogOptions<Log>): Promise<BegunLog<Log>> {
  const { connection, onError, publish, ref, payload, first, read, readLeader = read, budgetMs } = options;
  const writer = createWriterName();
  const wait = (readBegun: () => Promise<Log | undefined>) =>
    waitUntilBegun(ref, { connection, onError, read: readBegun });
  const before = { publish: async () => undefined, read, wait: () => wait(read) }[first];

  async function attempt(attempts: number): Promise<BegunLog<Log> | undefined> {
    const there = attempts === 0 ? await before().catch(ifUnavailable(undefined)) : undefined;
    if (there !== undefined) return { kind: "found", log: there };
    const outcome = await publish(logSubject(ref), payload, { expectedLast: STREAM_START, writer });
    if (outcome.kind === "stored") return { kind: "written", streamSeq: outcome.streamSeq };
    const log = await (outcome.kind === "conflict" ? wait(readLeader) : read()).catch(
      ifUnavailable(undefined),
    );
    return log === undefined ? undefined : { kind: "found", log };
  }

  const begun = await retry(attempt, { pauseMs: NO_LEADER_PAUSE_MS, budgetMs });
  if (begun) return begun;
  const message = `The generation's first event could not be written to the log within ${budgetMs} ms.`;
  throw new RepriseError("broker_unavailable", message, { retryAfterMs: 1_000 });
}
