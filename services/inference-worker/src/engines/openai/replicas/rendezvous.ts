import { hash } from "node:crypto";

/**
 * The order in which servers are asked for a key: by a hash of both (rendezvous hashing), so every worker has the same one, and a server that
 * comes or goes moves only the keys that are or were its own.
 * @returns places of `ids`
 */
export function rendezvousOrder(key: string, ids: readonly string[]): readonly number[] {
  const weights = ids.map((id) => hash("sha256", `${key}\0${id}`));
  return [...ids.keys()].toSorted((one, other) => (weights[one]! > weights[other]! ? -1 : 1));
}
