/** A checkpoint message: each payload, ended by a LF. */
export function encodeCheckpoint(payloads: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(payloads.flatMap((payload) => [payload, Buffer.from("\n")]));
}
