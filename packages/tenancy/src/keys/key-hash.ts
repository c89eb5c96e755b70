import { hash } from "node:crypto";

/**
 * The lower-case hex SHA-256 of an API key. A plain hash is enough: keys are long and random, so there is nothing to guess,
 * and a slow hash would have to run for every request.
 */
export function hashKey(secret: string): string {
  return hash("sha256", secret, "hex");
}
