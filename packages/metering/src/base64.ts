export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** What is no base64 is left out; the codecs above find what is missing. */
export function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}
