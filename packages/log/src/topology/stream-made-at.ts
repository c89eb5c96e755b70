import type { StreamInfo } from "@nats-io/jetstream";

/**
 * In a stream's metadata: when it was first made. The broker counts a restored stream as made anew, but it is the old one, which has lost its end: consumers
 * go on in it behind the last message that both they and it have.
 */
export const MADE_AT = "reprise.made-at";

/** When a stream was made, by this broker or by the one that it was backed up from. RFC 3339. */
export function madeAt({ created, config }: Pick<StreamInfo, "created" | "config">): string {
  return config.metadata?.[MADE_AT] ?? created;
}
