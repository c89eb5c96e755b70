import { randomBytes } from "node:crypto";
import type { Archive, Keyring } from "@reprise/archive";
import { type GenerationId, RepriseError, type TenantId } from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import { recordsDraft } from "../records/request-draft.ts";

export interface HoldRequest {
  readonly tenant: TenantId;
  /** The scope of the hold: the generations of a subject, or one generation; the whole tenant without either. */
  readonly subject?: string | undefined;
  readonly generation?: GenerationId | undefined;
  readonly by: string;
  readonly reason: string;
}

/**
 * Sets a legal hold: until it is lifted, nothing of what it is about is erased or deleted, not even when its time is over.
 * @returns its id
 * @throws RepriseError `archive_unavailable`, `archive_corrupt`
 */
export async function setHold(
  { archive, keyring }: { archive: Archive; keyring: Pick<Keyring, "tag"> },
  { tenant, subject, generation, by, reason }: HoldRequest,
): Promise<string> {
  const id = `hold_${randomBytes(10).toString("hex")}`;
  const tag = subject === undefined ? undefined : await keyring.tag(tenant, subjectTag(subject));
  const record = {
    kind: "hold_set" as const,
    at: new Date().toISOString(),
    id,
    by,
    reason,
    ...(tag !== undefined && { tag }),
    ...(generation !== undefined && { generation }),
  };
  await archive.append(() => recordsDraft(tenant, [record]));
  return id;
}

/**
 * @throws RepriseError `invalid_request` when there is no such hold; `archive_unavailable`, `archive_corrupt`
 */
export async function liftHold(
  archive: Archive,
  { tenant, id, by, reason }: { tenant: TenantId; id: string; by: string; reason: string },
): Promise<void> {
  await archive.append((state) => {
    if (!state.holds(tenant).some((hold) => hold.id === id)) {
      const message = `There is no legal hold ${id} of tenant ${tenant}, or it was lifted.`;
      throw new RepriseError("invalid_request", message, { param: "id" });
    }
    return recordsDraft(tenant, [{ kind: "hold_lifted", at: new Date().toISOString(), id, by, reason }]);
  });
}
