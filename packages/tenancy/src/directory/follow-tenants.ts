import {
  type Broker,
  readAllMessages,
  readStreamInfo,
  RefreshLoop,
  type OnStale,
  type StreamMessage,
} from "@reprise/broker";
import {
  LIVE_TENANTS_SUBJECTS,
  parseTenantSubject,
  RepriseError,
  STREAM_START,
  type StreamSeq,
  TENANTS_STREAM,
  TENANTS_SUBJECTS,
  type TenantId,
} from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { type TenantConfig, toTenant } from "../records/tenant.ts";
import { parseTenantRecord } from "../records/tenant-record.ts";
import { type TenantDirectory, TenantTable, type TenantTableOptions } from "./tenant-directory.ts";

/** The tenants as the bucket has them, followed until it is closed. */
export interface LiveTenantDirectory extends TenantDirectory, AsyncDisposable {
  /** Resolves when this process has heard of every change that was stored before the call, or of why it can't. */
  sync(): Promise<void>;
  /** The tenants that the bucket has, those too whose record can't be used. */
  stored(): TenantId[];
  /** The tenants that it had. */
  removed(): ReadonlySet<TenantId>;
  close(): Promise<void>;
}

export interface FollowTenantsOptions extends TenantTableOptions {
  readonly broker: Pick<Broker, "main" | "reads">;
  /** A record that can't be used: access is by the last good one, or there is none. Told once for each version of the record. */
  readonly onRefused: (tenant: TenantId, error: RepriseError) => void;
  /** Milliseconds between two checks of the bucket for changes, without an announcement. Default 500 ms. */
  readonly everyMs?: number | undefined;
  /** Told when the bucket can't be read for `staleMs`, and when it can again. */
  readonly onStale?: OnStale | undefined;
  /** Default 5 s. */
  readonly staleMs?: number | undefined;
}

/**
 * A record that no process has published is told. Every message is read, as the stream's leader counts every one: what a consumer is made to
 * answer to a subject of the stream is stored there under the subject that it had before.
 */
const BATCH = { subject: ">", maxMessages: 256, maxBytes: 4 * 1_048_576, raw: true };

/**
 * Loads all tenants, and follows them.
 * @throws RepriseError `broker_unavailable` when the bucket can't be read for 20 s
 */
export async function followTenants(options: FollowTenantsOptions): Promise<LiveTenantDirectory> {
  const follower = new TenantFollower(options);
  try {
    await follower.load();
    return follower;
  } catch (error) {
    await follower.close();
    throw error;
  }
}

/*
 * Following the bucket
 *
 * The leader of its stream reports the number of messages and the last sequence. A follower that has read to that sequence, and knows the same number of
 * subjects, is complete: the bucket keeps one message per subject, and a removed tenant leaves an empty one. If there are newer messages, they are read. If
 * the counts then still differ, messages have been removed (a purge, by hand); if the stream was created again, its sequence starts again at 1. In both cases
 * everything is read again, and tenants that no longer exist are removed.
 *
 * This happens when the bucket announces a change, when a lost connection is back, and twice a second. An announcement only makes it sooner, so a lost or
 * forged one does no harm. KV's own watch is not used: it is a consumer per process that takes two missed heartbeats (10 s) to notice a restart of the broker,
 * and does not report a purge.
 */
/** By subject, its message. A broker that has lost messages gives their places to others, which it stores later. */
type Known = Map<
  string,
  Pick<StreamMessage, "streamSeq" | "storedAtUs"> & {
    readonly tenant: TenantId | undefined;
    /** Undefined for what a service has had the broker store there. */
    readonly removed: TenantId | undefined;
  }
>;

class TenantFollower implements LiveTenantDirectory {
  readonly #table: TenantTable;
  readonly #options: FollowTenantsOptions;
  readonly #refresh: RefreshLoop;
  readonly #stop: () => void;
  #created = "";
  #lastStreamSeq = STREAM_START;
  #known: Known = new Map();
  /** Records that are not in use since another tenant has one of their keys: tried again after each change. */
  readonly #waiting = new Map<TenantId, { readonly tenant: TenantConfig; isTold: boolean }>();

  constructor(options: FollowTenantsOptions) {
    this.#options = options;
    this.#table = new TenantTable(options);
    const { broker, everyMs, staleMs, onStale } = options;
    this.#refresh = new RefreshLoop({
      connection: broker.main,
      what: "the tenants",
      read: () => this.#readChanges(),
      // A broker that has lost its last seconds can have the same counts again, of other messages.
      onUp: () => (this.#created = ""),
      onStale,
      everyMs,
      staleMs,
    });
    const heard = broker.main.subscribe(LIVE_TENANTS_SUBJECTS, { callback: () => this.#refresh.hint() });
    this.#stop = () => heard.unsubscribe();
  }

  authenticate: TenantDirectory["authenticate"] = (bearerToken) => this.#table.authenticate(bearerToken);
  renew: TenantDirectory["renew"] = (principal) => this.#table.renew(principal);
  find: TenantDirectory["find"] = (tenant) => this.#table.find(tenant);
  all: TenantDirectory["all"] = () => this.#table.all();
  onChange: TenantDirectory["onChange"] = (listener) => this.#table.onChange(listener);

  stored(): TenantId[] {
    return [...this.#known.values()].flatMap(({ tenant }) => tenant ?? []);
  }

  removed(): ReadonlySet<TenantId> {
    return new Set([...this.#known.values()].flatMap(({ removed }) => removed ?? []));
  }

  load(): Promise<void> {
    return this.#refresh.load();
  }

  sync(): Promise<void> {
    return this.#refresh.sync();
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#refresh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #readChanges(): Promise<void> {
    const { main, reads } = this.#options.broker;
    const { created, lastStreamSeq, messages } = await readStreamInfo(main, TENANTS_STREAM);
    const isSame = created === this.#created && lastStreamSeq >= this.#lastStreamSeq;
    if (isSame && lastStreamSeq === this.#lastStreamSeq && messages === this.#known.size) return;
    if (isSame) {
      const after = { ...BATCH, afterStreamSeq: this.#lastStreamSeq };
      for await (const message of readAllMessages(reads, TENANTS_STREAM, after)) {
        this.#take(message, this.#known);
        this.#lastStreamSeq = message.streamSeq;
      }
      this.#tellWaiting();
      const now = await readStreamInfo(main, TENANTS_STREAM);
      // Changes that came meanwhile are announced, and read in their turn.
      if (
        now.created === created &&
        (now.messages === this.#known.size || now.lastStreamSeq > this.#lastStreamSeq)
      )
        return;
    }
    await this.#readAnew(created, lastStreamSeq);
  }

  async #readAnew(created: string, lastStreamSeq: StreamSeq): Promise<void> {
    const found: Known = new Map();
    const all = readAllMessages(this.#options.broker.reads, TENANTS_STREAM, {
      ...BATCH,
      afterStreamSeq: STREAM_START,
    });
    let lastSeq = lastStreamSeq;
    for await (const message of all) {
      this.#take(message, found);
      lastSeq = Math.max(lastSeq, message.streamSeq);
    }
    for (const id of this.#waiting.keys()) if (!found.has(subjectOf(id))) this.#waiting.delete(id);
    this.#table.update(
      [],
      [...this.#table.all()].map(({ id }) => id).filter((id) => !found.has(subjectOf(id))),
    );
    this.#retryWaiting();
    this.#tellWaiting();
    this.#known = found;
    this.#created = created;
    this.#lastStreamSeq = lastSeq;
  }

  #take(message: StreamMessage, known: Known): void {
    const { streamSeq, storedAtUs, subject, payload } = message;
    const before = this.#known.get(subject);
    const isNew = before?.streamSeq !== streamSeq || before.storedAtUs !== storedAtUs;
    const tenant = parseTenantSubject(subject);
    const isEmpty = payload.length === 0;
    known.set(subject, {
      streamSeq,
      storedAtUs,
      tenant: isEmpty ? undefined : tenant,
      removed: isEmpty && message.isPublished ? tenant : undefined,
    });
    if (tenant === undefined || !isNew) return;
    if (!message.isPublished) this.#options.onRefused(tenant, notWritten(tenant));
    else this.#change(tenant, message);
  }

  #change(id: TenantId, { payload, storedAtUs }: StreamMessage): void {
    this.#waiting.delete(id);
    // So a tenant is removed.
    if (payload.length === 0) {
      this.#table.update([], [id]);
      return this.#retryWaiting();
    }
    try {
      const record = parseTenantRecord(new TextDecoder().decode(payload), id);
      const tenant = { ...toTenant(record), storedAtUs };
      if (this.#use(tenant)) this.#retryWaiting();
      else this.#waiting.set(id, { tenant, isTold: false });
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      this.#options.onRefused(id, error);
    }
  }

  #use(tenant: TenantConfig): boolean {
    if (this.#table.otherOwner(tenant) !== undefined) return false;
    this.#table.update([tenant]);
    return true;
  }

  #retryWaiting(): void {
    for (const [id, { tenant }] of this.#waiting) if (this.#use(tenant)) this.#waiting.delete(id);
  }

  /** After everything was read: a key that moves is given up by one record and taken by another. */
  #tellWaiting(): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.isTold) continue;
      waiting.isTold = true;
      this.#options.onRefused(id, sharesKey(id, this.#table.otherOwner(waiting.tenant)));
    }
  }
}

/** A service that may read messages, and write none of the bucket's, can have the broker store its answer there. */
function notWritten(id: TenantId): RepriseError {
  const message = `The record of tenant "${id}" is an answer of the broker that a service has had stored there: it does not count.`;
  return new RepriseError("protocol_violation", message);
}

function sharesKey(id: TenantId, owner: TenantId | undefined): RepriseError {
  return new RepriseError(
    "config_invalid",
    `the record of tenant "${id}" is wrong: one of its keys is tenant "${owner}"'s. It is used once that tenant gives it up.`,
  );
}

const subjectOf = (tenant: TenantId) => `${TENANTS_SUBJECTS.slice(0, -1)}${tenant}`;

/** Logs a record that cannot be used, as an error: the tenant keeps its earlier record, and an operator has to look. */
export function reportRefusedRecord(logger: Logger): (tenant: TenantId, error: RepriseError) => void {
  return (tenant, { message }) =>
    logger.error({ tenant, problem: message }, "a tenant's record can't be used: the last good one stays");
}
