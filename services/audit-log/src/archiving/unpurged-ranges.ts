import type { StreamSeq } from "@reprise/protocol";
import type { ArchiveState, TenantDraft } from "@reprise/archive";
import { erasuresIn } from "../records/erasures.ts";
import { requestDraft } from "../records/request-draft.ts";
import { type Batch, toRanges } from "@reprise/facts/lane";

/**
 * Places of a batch that are left out because of erasures, of a stream that erasures purge nothing of: an erasure's own records, and the
 * last marks of connections that it has broken off. Only the archiver knows these places, so its commit names them, as the erasure's
 * further requests.
 */
export class UnpurgedRanges {
  readonly #stream: Pick<Batch, "stream" | "created">;
  /** By tenant and erasure. */
  readonly #places = new Map<string, { tenant: string; erasure: string; places: StreamSeq[] }>();

  constructor(stream: Pick<Batch, "stream" | "created">) {
    this.#stream = stream;
  }

  /** @param erasure its id */
  add(tenant: string, erasure: string, places: readonly StreamSeq[]): void {
    const key = `${tenant} ${erasure}`;
    const known = this.#places.get(key) ?? { tenant, erasure, places: [] };
    known.places.push(...places);
    this.#places.set(key, known);
  }

  /** @param state the state that the batch is sealed after */
  toDrafts(state: ArchiveState): TenantDraft[] {
    const { stream, created } = this.#stream;
    const at = new Date().toISOString();
    return [...this.#places.values()].flatMap(({ tenant, erasure: id, places }) => {
      // The erasure was found among these records, which only grow.
      const erasure = erasuresIn(state.records(tenant)).find((one) => one.id === id)!;
      const ranges = toRanges(places);
      return requestDraft(state, tenant, erasure, { purged: { [stream]: { created, ranges } }, at }).tenants;
    });
  }
}
