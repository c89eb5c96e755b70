import { RepriseError } from "@reprise/protocol";

/** A tenant's version, as `ETag` and `If-Match` have it. */
export function toETag(revision: number): string {
  return `"${revision}"`;
}

/**
 * The version that a change is for; undefined where any will do.
 * @throws RepriseError `invalid_request`
 */
export function parseIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header === "*") return undefined;
  const revision = Number(/^"([1-9][0-9]{0,15})"$/.exec(header)?.[1]);
  // A greater number would be rounded to that of another version.
  if (Number.isSafeInteger(revision)) return revision;
  throw new RepriseError("invalid_request", "If-Match must be the ETag of the tenant as it was read.", {
    param: "If-Match",
  });
}
