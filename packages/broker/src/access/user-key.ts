import { nkeys } from "@nats-io/transport-node";

/** An nkey of a user of the broker: `seed` is the secret, `publicKey` what the server knows. */
export interface UserKey {
  /** `SU…` */
  readonly seed: string;
  /** `U…` */
  readonly publicKey: string;
}

export function createUserKey(): UserKey {
  return toUserKey(new TextDecoder().decode(nkeys.createUser().getSeed()));
}

/** @throws Error for a text that is no seed; its message does not repeat it */
export function toUserKey(seed: string): UserKey {
  return { seed, publicKey: nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey() };
}
