import { type Broker, readStreamMessages } from "@reprise/log";
import { LEASES_STREAM, leaseSubject } from "@reprise/protocol";

/** Has another process hold a lease for as long as such a word counts, whoever holds it now. */
export async function takeLease({ main }: Broker, group: string, name: string): Promise<void> {
  // A busy machine takes its time.
  const patiently = { timeout: 60_000 };
  await main.request(leaseSubject(group, name), JSON.stringify({ holder: "another" }), patiently);
}

/** Who holds a lease: "" when it was given back, undefined when nobody has had it. */
export async function readLeaseHolder(
  { reads }: Broker,
  group: string,
  name: string,
): Promise<string | undefined> {
  const batch = { afterStreamSeq: 0, maxMessages: 1, maxBytes: 0, subject: leaseSubject(group, name) };
  const [word] = await readStreamMessages(reads, LEASES_STREAM, batch);
  return word && (JSON.parse(Buffer.from(word.payload).toString()) as { holder: string }).holder;
}
