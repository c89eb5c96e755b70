import { type Broker, publishedHeaders, readStreamMessages } from "@reprise/broker";
import { PATIENCE_MS } from "@reprise/testkit";
import { LEASES_STREAM, leaseSubject, asStreamSeq } from "@reprise/protocol";

/** Takes a lease for another process, until it runs out, from its present holder. */
export async function takeLease({ main }: Broker, group: string, name: string): Promise<void> {
  // A busy machine takes its time.
  const patiently = { timeout: PATIENCE_MS, headers: publishedHeaders() };
  await main.request(leaseSubject(group, name), JSON.stringify({ holder: "another" }), patiently);
}

/** The holder of a lease: "" when it was given back, undefined when it was never held. */
export async function readLeaseHolder(
  { reads }: Broker,
  group: string,
  name: string,
): Promise<string | undefined> {
  const batch = {
    afterStreamSeq: asStreamSeq(0),
    maxMessages: 1,
    maxBytes: 0,
    subject: leaseSubject(group, name),
  };
  const [word] = await readStreamMessages(reads, LEASES_STREAM, batch);
  return word && (JSON.parse(Buffer.from(word.payload).toString()) as { holder: string }).holder;
}
