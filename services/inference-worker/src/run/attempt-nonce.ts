import { randomBytes } from "node:crypto";

/** Returns a nonce, which distinguishes attempts of the same number: a worker can't know of attempts that the store has lost. */
export function createNonce(): string {
  return randomBytes(3).toString("hex");
}
