import { expect, test } from "vitest";
import { generateSigningKey, isSmallOrder } from "./signing-key.ts";

const P = 2n ** 255n - 19n;
const D = (-121_665n * power(121_666n, P - 2n)) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let rest = exponent, square = base % P; rest > 0n; rest >>= 1n, square = (square * square) % P)
    if (rest & 1n) result = (result * square) % P;
  return result;
}

/** A y coordinate, and the sign of x, as a public key has them. */
function encode(y: bigint, sign: 0 | 1): string {
  const bytes = Buffer.alloc(32);
  for (let i = 0, rest = y; i < 32; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
  bytes[31]! |= sign << 7;
  return bytes.toString("base64url");
}

/** The y of the double of a point of the curve -x² + y² = 1 + d·x²·y²: (y² + x²) / (2 - (y² - x²)). */
function doubled(y: bigint): bigint {
  const yy = (y * y) % P;
  const xx = ((yy - 1n) * power((D * yy + 1n) % P, P - 2n)) % P;
  return ((((yy + xx) * power((2n - (yy - xx)) % P, P - 2n)) % P) + P) % P;
}

/** A point of order 8. */
const EIGHTH = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;

test("a point whose order divides 8 is one of them, in any form", () => {
  for (const y of [EIGHTH, P - EIGHTH]) {
    expect(doubled(y)).toBe(0n);
    expect(doubled(doubled(y))).toBe(P - 1n);
    expect(doubled(doubled(doubled(y)))).toBe(1n);
  }
  const ys = [EIGHTH, P - EIGHTH, 0n, 1n, P - 1n, P, P + 1n];
  for (const key of ys.flatMap((y) => [encode(y, 0), encode(y, 1)]))
    expect([key, isSmallOrder(key)]).toEqual([key, true]);
});

test("a key that is generated is none of them", async () => {
  for (let i = 0; i < 20; i++) expect(isSmallOrder((await generateSigningKey()).x)).toBe(false);
});
