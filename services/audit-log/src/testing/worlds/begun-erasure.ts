import type { GenerationRef } from "@reprise/protocol";
import type { Erasure } from "../../records/erasures.ts";
import type { LifecycleContext } from "../../lifecycle/lifecycle-context.ts";
import { requestDraft } from "../../records/request-draft.ts";

/** Has the archive say that a subject of these generations is to be erased. Nothing of it is done. */
export async function beginErasure(
  { archive, keyring }: LifecycleContext,
  refs: readonly [GenerationRef, ...GenerationRef[]],
): Promise<Erasure> {
  const [{ tenant }] = refs;
  const erasure: Erasure = {
    id: "era_1",
    at: new Date().toISOString(),
    by: "operator",
    reason: "a test",
    tag: await keyring.tag(tenant, "ann"),
    generations: refs.map(({ generation }) => generation).toSorted(),
    doneAt: undefined,
  };
  await archive.append((state) => requestDraft(state, tenant, erasure, { purged: {}, at: erasure.at }));
  return erasure;
}
