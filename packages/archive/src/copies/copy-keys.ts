import { asStreamSeq, type StreamSeq } from "@reprise/protocol";

/** Prefix of the keys of all copies. */
export const COPIES = "blob/";
const DIGITS = 6;
const PART = /^(blob\/tenant=([A-Za-z0-9_-]+)\/([A-Za-z0-9_-]+)\/(\d+)-(\d+)-[0-9a-f]{16})\/(\d{6})$/;

/** Which message a copy was made for: while that is not archived the copy may still be committed, and afterwards it never is. */
export interface CopyPlace {
  readonly tenant: string;
  readonly blob: string;
  /** Epoch of the OPS stream. */
  readonly epoch: number;
  readonly streamSeq: StreamSeq;
}

/** @param nonce 16 hex digits, random: an abandoned copy does not block the next one */
export function copyKey({ tenant, blob, epoch, streamSeq }: CopyPlace, nonce: string): string {
  return `${COPIES}tenant=${tenant}/${blob}/${epoch}-${streamSeq}-${nonce}`;
}

export function partKey(key: string, index: number): string {
  return `${key}/${String(index).padStart(DIGITS, "0")}`;
}

/** Undefined for what is no part of a copy. */
export function parsePartKey(text: string): (CopyPlace & { key: string; index: number }) | undefined {
  const [, key, tenant, blob, epoch, seq, index] = PART.exec(text) ?? [];
  if (key === undefined || tenant === undefined || blob === undefined) return undefined;
  return {
    key,
    tenant,
    blob,
    epoch: Number(epoch),
    streamSeq: asStreamSeq(Number(seq)),
    index: Number(index),
  };
}

/** True if a copy has such a part. */
export function isPartOf(
  { key, parts }: { readonly key: string; readonly parts: number },
  part: { readonly key: string; readonly index: number },
): boolean {
  return part.key === key && part.index < parts;
}

/** True if a copy of this blob can have the key that a record names: other keys are never read, even if a forged commit names them. */
export function isCopyKeyOf(
  tenant: string,
  { key, blob }: { readonly key: string; readonly blob: string },
): boolean {
  const parsed = parsePartKey(partKey(key, 0));
  return parsed?.tenant === tenant && parsed.blob === blob;
}
