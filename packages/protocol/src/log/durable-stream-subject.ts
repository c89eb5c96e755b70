import { toBase32, type TenantId } from "../id.ts";

/** Logs of the Durable Streams protocol: one subject for each stream. */
export const DURABLE_STREAMS_STREAM = "DURABLE_STREAMS";
export const DURABLE_STREAMS_SUBJECTS = "ds.>";
/** Where the broker republishes them. */
export const LIVE_DURABLE_STREAMS_SUBJECTS = "live.ds.>";

/** A tenant's stream: its name is any text, of which the subject has a hash. */
export interface DurableStreamName {
  readonly tenant: TenantId;
  readonly name: string;
}

/** @param sha256 of a text's UTF-8, 32 bytes */
export function durableStreamSubject(
  { tenant, name }: DurableStreamName,
  sha256: (text: string) => Uint8Array,
): string {
  return `ds.${tenant}.${toBase32(sha256(name))}`;
}

/** Where the broker republishes a stream's records once they are stored. */
export function liveDurableStreamSubject(...named: Parameters<typeof durableStreamSubject>): string {
  return `live.${durableStreamSubject(...named)}`;
}
