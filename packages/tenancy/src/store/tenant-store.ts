import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { retry } from "@reprise/async";
import { isRefusal, readLastRaw } from "@reprise/broker";
import {
  RepriseError,
  TENANTS_BUCKET,
  TENANTS_STREAM,
  TENANTS_SUBJECTS,
  type TenantId,
  toRepriseError,
} from "@reprise/protocol";
import { parseTenantRecord, type TenantRecord } from "../records/tenant-record.ts";

/** A record, and which version of it. */
export interface StoredTenant {
  readonly record: TenantRecord;
  /** Grows with each change of any tenant. */
  readonly revision: number;
}

export interface ChangeOptions {
  /** Change only this version. Default: any version; the change is retried if another came between. */
  readonly ifRevision?: number | undefined;
}

/**
 * The bucket, as its leader has it. Changes are compare-and-set, so that none is lost. All calls throw RepriseError `broker_unavailable`
 * when the broker does not answer in time: the change may have been stored then.
 */
export interface TenantStore {
  /** @throws RepriseError `config_invalid` for a record that this version can't read */
  read(tenant: TenantId): Promise<StoredTenant | undefined>;
  /** @throws RepriseError `tenant_conflict` when there is one, `tenant_removed` when there was one */
  create(record: TenantRecord): Promise<StoredTenant>;
  /** Stores a record unless its id was ever used. */
  seed(record: TenantRecord): Promise<"created" | "present" | "removed">;
  /**
   * @param change gives the next record of the present one; called again when another change came between, and when the answer to an
   *   earlier call was lost, so a change has to know its own work
   * @throws RepriseError `tenant_not_found`, `precondition_failed`, and what `change` throws
   */
  update(
    tenant: TenantId,
    change: (present: TenantRecord) => TenantRecord,
    options?: ChangeOptions,
  ): Promise<StoredTenant>;
  /**
   * Stores a record whether or not there is one, or one that can be read.
   * @param change gives the next record; the present one itself for no change
   * @throws RepriseError `tenant_removed` when the tenant was removed
   */
  replace(
    tenant: TenantId,
    change: (present: TenantRecord | undefined) => TenantRecord,
  ): Promise<"created" | "changed" | "same">;
  /**
   * Removes the record for good: the marker that is left refuses every later record under this id.
   * @throws RepriseError `tenant_not_found` unless it may be gone, `precondition_failed`
   */
  remove(tenant: TenantId, options?: ChangeOptions & { readonly ifPresent?: boolean }): Promise<void>;
}

const TIMEOUT_MS = 2_000;
const BUDGET_MS = 10_000;
const PAUSE_MS = 10;
const MAX_PAUSE_MS = 200;

export async function openTenantStore(connection: NatsConnection): Promise<TenantStore> {
  const kv = await new Kvm(connection).open(TENANTS_BUCKET, { allow_direct: false });
  return new KvTenantStore(connection, kv);
}

/** The bucket's entry of a tenant. */
interface Entry {
  readonly revision: number;
  /**
   * Undefined for the marker that the tenant was removed, and for what is forged: an answer of the broker that a service which may not write the
   * bucket has had stored there. A change of such a record would make it one that counts. Nodes that run continue with the record before it, until there
   * is another or the tenant is removed.
   */
  readonly json: string | undefined;
  /** The marker. It is kept for ever: a new tenant with the id would get all that is stored under it. */
  readonly isRemoved: boolean;
}

/** With a record. */
type PresentEntry = Entry & { readonly json: string };

class KvTenantStore implements TenantStore {
  readonly #connection: NatsConnection;
  readonly #kv: KV;

  constructor(connection: NatsConnection, kv: KV) {
    this.#connection = connection;
    this.#kv = kv;
  }

  async read(tenant: TenantId): Promise<StoredTenant | undefined> {
    const entry = await this.#present(tenant);
    return entry && { record: parseTenantRecord(entry.json, tenant), revision: entry.revision };
  }

  async create(record: TenantRecord): Promise<StoredTenant> {
    const json = encode(record);
    const { id } = record;
    const made = await this.#insist(async () => {
      const entry = await this.#entry(id);
      const present = presentOf(entry);
      if (present) {
        // The answer to an earlier attempt may have been lost.
        if (present.json === json) return present.revision;
        throw new RepriseError("tenant_conflict", `There is a tenant "${id}" already.`, { param: "id" });
      }
      if (entry?.isRemoved) throw tenantRemoved([id]);
      return this.#put(id, json, entry?.revision ?? 0);
    });
    return { record, revision: made };
  }

  async seed(record: TenantRecord): Promise<"created" | "present" | "removed"> {
    const json = encode(record);
    let outcome: "created" | "present" | "removed" = "present";
    await this.#insist(async () => {
      const entry = await this.#entry(record.id);
      if (entry) {
        if (entry.isRemoved) outcome = "removed";
        return entry.revision;
      }
      const revision = await this.#put(record.id, json, 0);
      if (revision !== undefined) outcome = "created";
      return revision;
    });
    return outcome;
  }

  async update(
    tenant: TenantId,
    change: (present: TenantRecord) => TenantRecord,
    { ifRevision }: ChangeOptions = {},
  ): Promise<StoredTenant> {
    let json: string | undefined;
    let record: TenantRecord | undefined;
    const revision = await this.#insist(async () => {
      const entry = await this.#present(tenant);
      if (!entry) throw tenantNotFound();
      // Ours, stored by an attempt whose answer was lost.
      if (json !== undefined && entry.json === json) return entry.revision;
      assertRevision(entry, ifRevision);
      record = change(parseTenantRecord(entry.json, tenant));
      json = encode(record);
      return this.#put(tenant, json, entry.revision);
    });
    if (!record) throw new RepriseError("internal", "A tenant was updated without a record.");
    return { record, revision };
  }

  async replace(
    tenant: TenantId,
    change: (present: TenantRecord | undefined) => TenantRecord,
  ): Promise<"created" | "changed" | "same"> {
    let outcome: "created" | "changed" | "same" = "same";
    await this.#insist(async () => {
      const entry = await this.#entry(tenant);
      if (entry?.isRemoved) throw tenantRemoved([tenant]);
      const present = presentOf(entry);
      const record = present && readable(present.json, tenant);
      const next = change(record);
      if (present && next === record) return present.revision;
      const revision = await this.#put(tenant, encode(next), entry?.revision ?? 0);
      if (revision !== undefined) outcome = present ? "changed" : "created";
      return revision;
    });
    return outcome;
  }

  async remove(
    tenant: TenantId,
    { ifRevision, ifPresent = false }: ChangeOptions & { readonly ifPresent?: boolean } = {},
  ): Promise<void> {
    let sent = ifPresent;
    await this.#insist(async () => {
      const entry = await this.#entry(tenant);
      if (!entry || entry.isRemoved) {
        if (sent) return 0;
        throw tenantNotFound();
      }
      assertRevision(entry, ifRevision);
      sent = true;
      return this.#try(async () => {
        await this.#kv.delete(tenant, { previousSeq: entry.revision });
        return 0;
      });
    });
  }

  async #present(tenant: TenantId): Promise<PresentEntry | undefined> {
    return presentOf(await this.#entry(tenant));
  }

  /** Reads the leader's entry. The bucket's own client does not report who has stored a message. */
  async #entry(tenant: TenantId): Promise<Entry | undefined> {
    const subject = TENANTS_SUBJECTS.replace(">", tenant);
    const last = await readLastRaw(this.#connection, TENANTS_STREAM, subject).catch((cause: unknown) => {
      throw unavailable(cause);
    });
    if (!last) return undefined;
    const { streamSeq: revision, payload, isPublished } = last;
    const isThere = isPublished && payload.length > 0;
    return {
      revision,
      json: isThere ? new TextDecoder().decode(payload) : undefined,
      isRemoved: isPublished && payload.length === 0,
    };
  }

  /** The new revision; undefined when another change came between. */
  #put(tenant: TenantId, json: string, previousSeq: number): Promise<number | undefined> {
    return this.#try(() => this.#kv.put(tenant, json, { previousSeq, timeout: TIMEOUT_MS }));
  }

  async #try(call: () => Promise<number>): Promise<number | undefined> {
    try {
      return await call();
    } catch (error) {
      if (isRefusal(error, "wrongLastSequence") || isRefusal(error, "earlierPublishInFlight"))
        return undefined;
      throw unavailable(error);
    }
  }

  /** Repeats what lost against another change, and what the broker did not answer. */
  async #insist(attempt: () => Promise<number | undefined>): Promise<number> {
    let failure: RepriseError | undefined;
    const once = async () => {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof RepriseError) || error.code !== "broker_unavailable") throw error;
        failure = error;
        return undefined;
      }
    };
    const done = await retry(once, { pauseMs: PAUSE_MS, maxPauseMs: MAX_PAUSE_MS, budgetMs: BUDGET_MS });
    if (done === undefined) throw failure ?? unavailable(undefined);
    return done;
  }
}

function presentOf(entry: Entry | undefined): PresentEntry | undefined {
  return entry?.json === undefined ? undefined : { ...entry, json: entry.json };
}

/** Undefined for a record that this version can't read. */
function readable(json: string, tenant: TenantId): TenantRecord | undefined {
  try {
    return parseTenantRecord(json, tenant);
  } catch (error) {
    if (error instanceof RepriseError) return undefined;
    throw error;
  }
}

/** Throws if the record cannot be read back: it must not be stored. */
function encode(record: TenantRecord): string {
  const json = JSON.stringify(record);
  assertReadable(json, record.id);
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_RECORD_BYTES) return json;
  throw new RepriseError(
    "invalid_request",
    `The record of tenant "${record.id}" would have ${bytes} bytes; ${MAX_RECORD_BYTES} at most can be kept.`,
    { param: "policy" },
  );
}

function assertReadable(json: string, id: TenantId): void {
  try {
    parseTenantRecord(json, id);
  } catch (error) {
    throw new RepriseError("invalid_request", toRepriseError(error).message, { param: "tenant" });
  }
}

/** The largest record, as JSON. */
const MAX_RECORD_BYTES = 1_048_576;

function assertRevision({ revision }: Entry, wanted: number | undefined): void {
  if (wanted === undefined || wanted === revision) return;
  throw new RepriseError(
    "precondition_failed",
    `The tenant has changed: its ETag is "${revision}", not "${wanted}". Read it again.`,
    { param: "If-Match" },
  );
}

/** @param ids one at least */
export function tenantRemoved(ids: readonly TenantId[]): RepriseError {
  const who =
    ids.length === 1
      ? `The tenant "${ids[0]}" was`
      : `The tenants ${ids.map((id) => `"${id}"`).join(", ")} were`;
  const message = `${who} removed. An id is never given again, because what was stored under it would be the new tenant's: choose another one.`;
  return new RepriseError("tenant_removed", message, { param: "id" });
}

export function tenantNotFound(): RepriseError {
  return new RepriseError("tenant_not_found", "There is no tenant with this id.", { param: "id" });
}

function unavailable(cause: unknown): RepriseError {
  return new RepriseError("broker_unavailable", "The tenants' bucket does not answer.", {
    cause,
    retryAfterMs: 1_000,
  });
}
