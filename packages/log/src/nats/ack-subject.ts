/** Where a subject for acknowledgements says how often its message was handed out. */
const AT = { v1: 4, v2: 6 } as const;
const V1_TOKENS = 9;

/**
 * How often the broker has handed out the message that is acknowledged with this subject:
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.…`, with domain and account before the stream in its second, longer form.
 */
export function deliveriesOf(ackSubject: string): number {
  const tokens = ackSubject.split(".");
  return Number(tokens[tokens.length > V1_TOKENS ? AT.v2 : AT.v1]);
}
