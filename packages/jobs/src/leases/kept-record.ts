import { keptSubject, LEASES_STREAM, RepriseError } from "@reprise/protocol";
import { FOR_EVER, HEADER, type Broker, type Publish, readLastMessage } from "@reprise/broker";

const TIMEOUT_MS = 5_000;

/** Keeps a record beside a group's leases, in place of the one before: also when no process runs, and for longer than the stream's `max_age`. @throws RepriseError `broker_unavailable` */
export async function keepRecord(
  publish: Publish,
  { group, name }: { readonly group: string; readonly name: string },
  record: object,
): Promise<void> {
  const payload = new TextEncoder().encode(JSON.stringify(record));
  const outcome = await publish(keptSubject(group, name), payload, {
    extra: { [HEADER.ttl]: FOR_EVER },
    timeoutMs: TIMEOUT_MS,
  });
  if (outcome.kind === "stored") return;
  const why = outcome.kind === "unavailable" ? (outcome.detail ?? outcome.reason) : outcome.kind;
  throw new RepriseError("broker_unavailable", `A record of ${group} could not be kept: ${why}.`);
}

/**
 * The record that was kept last, as the leader knows it; undefined where there is none. It is not validated.
 * @throws RepriseError `broker_unavailable`, `protocol_violation`
 */
export async function readKeptRecord(
  connection: Broker["reads"],
  { group, name }: { readonly group: string; readonly name: string },
): Promise<unknown> {
  const payload = await readLastMessage(connection, LEASES_STREAM, keptSubject(group, name));
  return payload && JSON.parse(new TextDecoder().decode(payload));
}
