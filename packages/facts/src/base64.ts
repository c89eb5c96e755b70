export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Decodes base64 and ignores invalid characters; the codecs above detect missing data. */
export function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}
