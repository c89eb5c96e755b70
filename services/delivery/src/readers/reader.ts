import type { GenerationRef, RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { ReadingRole } from "../http/auth.ts";
import type { ConnectionRecord } from "./delivery-marks/connection-record.ts";
import type { PresentReader } from "./presence/present-reader.ts";

/** An answer that a caller waits for or is being sent, for as long as that caller may read. */
export interface AttachedCall {
  /** Whom its events are sent to, as last heard of. */
  principal: Principal;
  /** Role that it was opened for. */
  readonly role: ReadingRole;
  /** Tells the client what is wrong, and ends the answer. */
  fail(error: RepriseError): void;
}

/** A connection that is being sent events, of the live log or the archive. What is wrong is told in band, and breaks the connection. */
export interface ReaderStream extends AttachedCall {
  /** Sends a comment if nothing else was sent for so long. */
  heartbeat(nowMs: number, everyMs: number): void;
  /** Tells the client to come back after a while, and breaks the connection. */
  disconnectWithRetry(retryMs: number): void;
}

/** One reader of a generation on this node. Readers are registered for four purposes; a part is absent where its purpose needs nothing. */
export interface Reader {
  readonly ref: GenerationRef;
  /** Gets heartbeats, and is disconnected in a drain, and when its caller may no longer read. */
  readonly stream?: ReaderStream;
  /** Call of a long-poll, which ends when its caller may no longer read. */
  readonly waiting?: AttachedCall;
  /** Counts as present, where the policy depends on that. */
  readonly presence?: PresentReader | undefined;
  /** Source of its delivery marks. */
  readonly record?: ConnectionRecord;
}

/** This node's readers of one generation. */
export interface Audience {
  readonly ref: GenerationRef;
  readonly readers: ReadonlySet<Reader>;
}

/** Totals over all streams of a node. Plain numbers: they are incremented for every write, and read at a scrape. */
export interface ReaderCounts {
  /** Events that were handed to a socket, once for each reader. */
  eventsDelivered: number;
  /** Times that a reader lagged so far that it had to read the log. */
  fallenBack: number;
}
