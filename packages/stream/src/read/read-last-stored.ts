import type { NatsConnection } from "@nats-io/transport-node";
import { getLastDirect, storedAtOf } from "@reprise/broker";
import { type GenerationRef, logSubject, streamOf, toUnixMs, type UnixMs } from "@reprise/protocol";

/** An event and when it was stored, by the broker's clock. */
interface LastStored {
  readonly payload: Uint8Array;
  readonly storedAtMs: UnixMs;
}

/**
 * The last event of a log, from any replica; undefined for a log that has none.
 * @throws RepriseError `broker_unavailable`
 */
export async function readLastStored(
  connection: NatsConnection,
  ref: GenerationRef,
): Promise<LastStored | undefined> {
  const last = await getLastDirect(connection, streamOf(ref.generation), logSubject(ref));
  return last && { payload: Uint8Array.from(last.data), storedAtMs: toUnixMs(storedAtOf(last)) };
}
