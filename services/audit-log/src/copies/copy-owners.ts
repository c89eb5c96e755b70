import type { ArchiveRecord, ArchiveState, BlobCopy } from "@reprise/archive";
import { type Erasure, erasuresIn } from "../records/erasures.ts";

/** Who takes a copy with them when they are erased. */
export interface OwnedCopy {
  /** Keyed hash of the blob's subject. */
  readonly tag?: string | undefined;
  /** The generation that has made the blob. */
  readonly generation?: string | undefined;
  /** Erasures that were over before the copy was made: they do not take it. */
  readonly erasures: ReadonlySet<string>;
}

/** The scope of an erasure. */
export type Erased = Pick<Erasure, "tag" | "generations">;

/** True if an erasure destroys this copy. */
function isErasedBy(
  { tag, generations }: Erased,
  copy: { readonly tag?: string | undefined; readonly generation?: string | undefined },
): boolean {
  if (copy.generation !== undefined && generations.includes(copy.generation)) return true;
  return tag !== undefined && copy.tag === tag;
}

/** The copies that an erasure destroys, as far as they are there. */
export function copiesOf(state: ArchiveState, tenant: string, erased: Erased): BlobCopy[] {
  return [...state.copies(tenant).values()].filter((copy) => isErasedBy(erased, copy));
}

/** Returns the names of finished erasures: one that is started again has another name when it is finished. */
export function doneErasures(records: readonly ArchiveRecord[]): Set<string> {
  return new Set(erasuresIn(records).flatMap((one) => (one.doneAt === undefined ? [] : nameOf(one))));
}

/** True if an erasure destroys the copy, though the copy is not committed yet. */
export function isErasedIn(records: readonly ArchiveRecord[], copy: OwnedCopy): boolean {
  return erasuresIn(records).some(
    (one) =>
      (copy.generation !== undefined && one.generations.includes(copy.generation)) ||
      (isErasedBy(one, copy) && !copy.erasures.has(nameOf(one))),
  );
}

function nameOf({ id, doneAt }: Erasure): string {
  return `${id} ${doneAt}`;
}
