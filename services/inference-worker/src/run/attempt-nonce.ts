import { randomBytes } from "node:crypto";

/** What tells an attempt from any other one with its number: a worker can't know of attempts that the store has lost. */
export function createNonce(): string {
  return randomBytes(3).toString("hex");
}
