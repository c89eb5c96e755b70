import type { TenantDraft } from "@reprise/archive";

/** A batch at midnight has two files of a tenant; what is left out of it, and a blob that was copied, have a record. */
export function joinByTenant(drafts: readonly TenantDraft[]): TenantDraft[] {
  const joined = new Map<string, TenantDraft>();
  for (const draft of drafts) {
    const known = joined.get(draft.tenant);
    joined.set(draft.tenant, {
      ...draft,
      leaves: [...(known?.leaves ?? []), ...draft.leaves],
      files: [...(known?.files ?? []), ...draft.files],
      records: [...(known?.records ?? []), ...draft.records],
    });
  }
  return [...joined.values()];
}
