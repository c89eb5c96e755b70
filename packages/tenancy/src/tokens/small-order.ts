/**
 * The y coordinates of Ed25519's points whose order divides 8, little-endian without the bit of x's sign, those that are not reduced among them. By such a
 * key anybody can sign, where a library does not refuse it itself as OpenSSL 3.5 does: its multiples are few.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

const SIGN_BIT = 0x80;

/** @param x a public key of Ed25519 as its JWK has it, in base64url */
export function isSmallOrder(x: string): boolean {
  const bytes = Buffer.from(x, "base64url");
  const last = bytes.at(-1);
  if (last === undefined) return false;
  bytes[bytes.length - 1] = last & ~SIGN_BIT;
  return SMALL_ORDER.has(bytes.toString("hex"));
}
