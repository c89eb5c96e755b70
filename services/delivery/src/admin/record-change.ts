import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type AddressClass,
  type AdministrationRecord,
  RepriseError,
  type TenantId,
  toRepriseError,
} from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { hashKey, type TenantRecord, viewTenant } from "@reprise/tenancy";
import { type Publish, recordOps } from "@reprise/broker";
import type { Administrator } from "../http/auth.ts";

/** Milliseconds that a caller waits for a broker that does not take the first record. */
const BUDGET_MS = 3_000;
/** A field that is larger, as JSON, is recorded by its hash: the record must fit into a message. */
const MAX_FIELD_CHARS = 32_768;

export interface RecordedChange {
  readonly tenant: TenantId;
  readonly administrator: Administrator;
  readonly address: AddressClass;
  /** The id of the request, for the log. */
  readonly request: string;
  readonly call: AdministrationRecord["call"];
  readonly key?: string | undefined;
  readonly revoked?: AdministrationRecord["revoked"];
}

/** The record before and after a change; undefined if there was none before, or is none after. */
export interface Outcome<T> {
  readonly before: TenantRecord | undefined;
  readonly after: TenantRecord | undefined;
  readonly result: T;
}

/**
 * Makes a change between two records of it. The first is stored before anything changes: what can't be recorded is not done. The second says
 * what became of it; that one is tried for ten seconds, and logged as an error if the broker does not take it.
 * @throws RepriseError `broker_unavailable` when the first can't be stored, and what the change throws
 */
export async function recordChange<T>(
  { publish, logger }: { readonly publish: Publish; readonly logger: Logger },
  { tenant, administrator, address, request, call, key, revoked }: RecordedChange,
  change: () => Promise<Outcome<T>>,
): Promise<T> {
  const common = {
    kind: "administration",
    by: administrator.by,
    address,
    call,
    change: `chg_${randomUUID()}`,
  } as const;
  const about = { ...(key !== undefined && { key }), ...(revoked && { revoked }) };
  const record = (
    rest: Pick<AdministrationRecord, "stage" | "before" | "after" | "error">,
    budgetMs?: number,
  ) =>
    recordOps(
      publish,
      { tenant },
      { ...common, ...about, at: new Date().toISOString(), ...rest },
      budgetMs === undefined ? {} : { budgetMs },
    );
  if (!(await record({ stage: "begun" }, BUDGET_MS)))
    throw new RepriseError("broker_unavailable", "The change could not be recorded, so it was not made.", {
      retryAfterMs: 1_000,
    });
  const finish = async (rest: Parameters<typeof record>[0]) => {
    if (!(await record(rest)))
      logger.error({ request, tenant, ...common }, "the end of a change could not be recorded");
  };
  try {
    const { before, after, result } = await change();
    await finish({ stage: "done", ...differences(before, after) });
    return result;
  } catch (error) {
    await finish({ stage: "failed", error: toRepriseError(error).code });
    throw error;
  }
}

type Fields = NonNullable<AdministrationRecord["before"]>;

/** The fields that differ, without secrets: keys are as the admin API shows them. */
function differences(
  before: TenantRecord | undefined,
  after: TenantRecord | undefined,
): { before: Fields; after: Fields } {
  const [old, next] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  const changed = names.filter((name) => !isDeepStrictEqual(old[name], next[name]));
  const pick = (fields: Fields) =>
    Object.fromEntries(changed.map((name) => [name, shorten(fields[name] ?? null)]));
  return { before: pick(old), after: pick(next) };
}

function fieldsOf(record: TenantRecord | undefined): Fields {
  if (!record) return {};
  return JSON.parse(JSON.stringify(viewTenant(record))) as Fields;
}

function shorten(value: Fields[string]): Fields[string] {
  const json = JSON.stringify(value);
  return json.length <= MAX_FIELD_CHARS ? value : { sha256: hashKey(json), characters: json.length };
}
