/** Where a key lies: a page of its tenant, and its place on it. */
export interface KeyPlace {
  readonly page: string;
  readonly index: number;
}

const SUBJECT_KID = /^s\.([0-9a-f]{16})\.(0|[1-9]\d{0,8})$/;
const PAGE_KID = /^p\.([A-Za-z0-9_-]{12})\.(0|[1-9]\d{0,8})$/;

/** The n-th key of a subject. @param tag the keyed hash of the subject */
export function subjectKid(tag: string, n: number): string {
  return `s.${tag}.${n}`;
}

/** @param page 12 characters of base64url */
export function pageKid(page: string, index: number): string {
  return `p.${page}.${index}`;
}

/** Undefined when no keyring has made it. */
export function placeOfKid(kid: string): KeyPlace | undefined {
  const [, tag, n] = SUBJECT_KID.exec(kid) ?? [];
  if (tag !== undefined) return { page: `subject/${tag}/${n}`, index: 0 };
  const [, page, index] = PAGE_KID.exec(kid) ?? [];
  return page === undefined ? undefined : { page: `page/${page}`, index: Number(index) };
}
