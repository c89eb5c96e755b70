import { toBase32, type TenantId } from "../id.ts";

/** Which generation a client's chat or thread is at: the last value of each subject, kept as long as the logs, or for its own time. */
export const THREADS_STREAM = "THREADS";
export const THREADS_SUBJECTS = "thread.>";

/** A chat or thread by a client's name for it. */
export interface ThreadName {
  readonly tenant: TenantId;
  /** Protocol of the thread: names of two protocols never collide. */
  readonly protocol: string;
  /** Whose it is: an end user sees threads of its own alone. Undefined: of the tenant's keys. */
  readonly endUser: string | undefined;
  /** Any text: the subject has a hash of it. */
  readonly id: string;
}

/** @param sha256 of a text's UTF-8, 32 bytes */
export function threadSubject(
  { tenant, protocol, endUser, id }: ThreadName,
  sha256: (text: string) => Uint8Array,
): string {
  return `thread.${tenant}.${toBase32(sha256(JSON.stringify([protocol, endUser ?? null, id])))}`;
}
