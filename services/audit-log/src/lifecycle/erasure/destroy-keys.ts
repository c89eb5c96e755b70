import { RepriseError, type TenantId } from "@reprise/protocol";
import { copiesOf } from "../../copies/copy-owners.ts";
import type { Erasure } from "../../records/erasures.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { assertKeysKnown, findGenerations } from "./find-generations.ts";

const TRIES = 3;

/**
 * Destroys the keys of an erasure: of its generations and of the copies of their blobs.
 * @param kids those that are known; all that have sealed anything of the erasure are added
 * @throws RepriseError `archive_unavailable`
 */
export async function destroyKeys(
  context: LifecycleContext,
  tenant: TenantId,
  { tag, generations }: Erasure,
  kids: Set<string>,
): Promise<void> {
  const { keyring, archive } = context;
  const found = await findGenerations(context, tenant, { tag: undefined, generations });
  for (const generation of found.values()) for (const kid of generation.kids) kids.add(kid);
  assertKeysKnown(found, kids);
  for (const { kid } of copiesOf(archive.state, tenant, { tag, generations })) kids.add(kid);
  for (let left = [...kids], tries = 0; left.length > 0; tries++) {
    if (tries === TRIES)
      throw new RepriseError("archive_unavailable", "Keys are there again after they were destroyed.");
    await keyring.destroy(tenant, left);
    // Another process may have written the same page of keys at the same moment.
    const states = await Promise.all(left.map((kid) => keyring.open(tenant, kid)));
    left = left.filter((_, i) => typeof states[i] !== "string");
  }
}
