import { type GenerationRef, logSubject, type TenantId, toRepriseError, unixNow } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { ReadingRole } from "../http/auth.ts";
import type { DeliveryMarks } from "./delivery-marks/delivery-marks.ts";
import { MarkRecorder } from "./delivery-marks/mark-recorder.ts";
import { MIN_INTERVAL_MS } from "./presence/announcement.ts";
import { Announcer, type AnnouncerOptions } from "./presence/announcer.ts";
import type { AttachedCall, Audience, Reader, ReaderCounts } from "./reader.ts";

const HEARTBEAT_MS = 15_000;
const MAX_HEARTBEAT_SWEEP_MS = 1_000;
/** Told to come back at once, all readers of a node would hit the others in the same second. */
const COME_BACK_MS = { least: 100, most: 2_000 };

export interface ReaderRegistryOptions {
  readonly presence: AnnouncerOptions;
  readonly marks: DeliveryMarks;
  /** After how long without a byte a reader is sent a heartbeat. Default 15 s. */
  readonly heartbeatMs?: number | undefined;
  /** Returns the current principal of an earlier caller. Throws a RepriseError if it no longer has the role that its answer was opened for. */
  readonly renew: (principal: Principal, role: ReadingRole) => Principal;
  readonly random?: () => number;
}

/** One generation's readers, and what is done about them; kept for as long as there are readers or something is left to do. */
interface Entry extends Audience {
  readonly readers: Set<Reader>;
  announcer: Announcer | undefined;
  recorder: MarkRecorder | undefined;
}

/**
 * Who reads what on this node: one entry per generation, with its readers. Four purposes ask it:
 *
 * - streams get heartbeats, all from one timer, and are disconnected in a drain, each with another retry delay;
 * - streams and long-polls are broken off when the key or the token of their caller expires, or its tenant or the platform's keys have
 *   changed and it may read no longer;
 * - an `Announcer` announces presence, for generations whose policy depends on readers;
 * - a `MarkRecorder` records delivery marks.
 *
 * The last two are told when a reader enters and leaves, and are called ten times a second for what is due by then. Nothing is
 * told with an event: where a reader is, is asked for.
 */
export class ReaderRegistry implements ReaderCounts {
  eventsDelivered = 0;
  fallenBack = 0;
  readonly #options: Required<Omit<ReaderRegistryOptions, "heartbeatMs">>;
  readonly #entries = new Map<string, Entry>();
  readonly #heartbeats: NodeJS.Timeout;
  #sweeper: NodeJS.Timeout | undefined;
  #isDrained = false;

  constructor({ heartbeatMs = HEARTBEAT_MS, random = Math.random, ...options }: ReaderRegistryOptions) {
    this.#options = { ...options, random };
    const sweep = () => {
      this.#heartbeat(performance.now(), heartbeatMs);
      this.#renew(({ expiresAtMs }) => expiresAtMs <= unixNow());
    };
    this.#heartbeats = setInterval(sweep, Math.min(MAX_HEARTBEAT_SWEEP_MS, heartbeatMs)).unref();
  }

  /** Number of open streams. */
  get streams(): number {
    let count = 0;
    for (const { readers } of this.#entries.values()) for (const { stream } of readers) if (stream) count++;
    return count;
  }

  /** Registers a reader, until what is returned is called. */
  enter(reader: Reader): () => void {
    const entry = this.#entryOf(reader.ref);
    const { presence, record } = reader;
    entry.readers.add(reader);
    if (presence && !this.#isDrained) {
      entry.announcer ??= new Announcer(this.#options.presence, entry, presence.cache);
      entry.announcer.entered(presence);
    }
    if (record) {
      entry.recorder ??= new MarkRecorder(this.#options.marks, entry);
      entry.recorder.entered();
    }
    return () => this.#leave(entry, reader);
  }

  /** Breaks off the streams and long-polls whose callers may read no longer: those of a tenant that has changed, or all. */
  recheck(tenant?: TenantId): void {
    this.#renew((principal) => tenant === undefined || principal.tenant === tenant);
  }

  /**
   * Disconnects all streams. Their readers are on their way to another node, so their leaving is not announced, and a last announcement
   * gives them a whole lease to arrive there.
   */
  drain(): void {
    if (this.#isDrained) return;
    this.#isDrained = true;
    clearInterval(this.#heartbeats);
    for (const { announcer } of this.#entries.values()) announcer?.drain();
    const { random } = this.#options;
    const { least, most } = COME_BACK_MS;
    for (const { readers } of this.#entries.values())
      for (const { stream } of readers) stream?.disconnectWithRetry(least + random() * (most - least));
  }

  /** Drains, and stores what is left to announce and to record. To be called when every connection is gone. */
  async close(): Promise<void> {
    this.drain();
    clearInterval(this.#sweeper);
    const entries = [...this.#entries.values()];
    await Promise.all([
      ...entries.map(({ announcer }) => announcer?.close()),
      this.#options.marks.close(entries.flatMap(({ recorder }) => recorder ?? [])),
    ]);
  }

  #renew(isDue: (principal: Principal) => boolean): void {
    for (const { readers } of this.#entries.values())
      for (const { stream, waiting } of readers) {
        const attached = stream ?? waiting;
        if (attached && isDue(attached.principal)) this.#renewCaller(attached);
      }
  }

  /** With the change a key or token may have been given an end, at which no other change tells of it. */
  #renewCaller(attached: AttachedCall): void {
    try {
      attached.principal = this.#options.renew(attached.principal, attached.role);
    } catch (error) {
      attached.fail(toRepriseError(error));
    }
  }

  #entryOf(ref: GenerationRef): Entry {
    const key = logSubject(ref);
    let entry = this.#entries.get(key);
    if (!entry) {
      entry = { ref, readers: new Set(), announcer: undefined, recorder: undefined };
      this.#entries.set(key, entry);
      this.#sweeper ??= setInterval(() => this.#sweep(performance.now()), MIN_INTERVAL_MS).unref();
    }
    return entry;
  }

  #leave(entry: Entry, reader: Reader): void {
    if (!entry.readers.delete(reader)) return;
    if (reader.presence) entry.announcer?.left();
    if (reader.record) entry.recorder?.left(reader.record);
  }

  #sweep(nowMs: number): void {
    for (const [key, { readers, announcer, recorder }] of this.#entries) {
      announcer?.sweep(nowMs);
      recorder?.sweep(nowMs);
      if (readers.size > 0) continue;
      if ((announcer?.isDone(nowMs) ?? true) && (recorder?.isDone ?? true)) this.#entries.delete(key);
    }
    if (this.#entries.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #heartbeat(nowMs: number, everyMs: number): void {
    for (const { readers } of this.#entries.values())
      for (const { stream } of readers) stream?.heartbeat(nowMs, everyMs);
  }
}
