/**
 * The bytes of base64 text, in memory of their own. `Buffer.from` takes small ones from a pool of 64 KiB, and one that is kept, as the
 * first event of a generation that runs, would keep all of it alive.
 */
export function decodeBase64(text: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, "base64"));
  return bytes.subarray(0, bytes.write(text, "base64"));
}
