import { hash } from "node:crypto";

const COMMITMENT_PREFIX = new TextEncoder().encode("reprise key commitment v1");

/** A key that seals segments. */
export interface DataKey {
  readonly kid: string;
  /** 32 bytes. A `KeyObject` is made of it for each use: Node's ciphers take four times as long for bytes. */
  readonly key: Uint8Array;
  /** SHA-256 of `reprise key commitment v1` and the key, hex: AES-GCM does not commit to its key by itself. */
  readonly commitment: string;
}

/** SHA-256 of `reprise key commitment v1` and the key, hex. */
export function commitmentOf(key: Uint8Array): string {
  return hash("sha256", Buffer.concat([COMMITMENT_PREFIX, key]), "hex");
}

/** Who a generation's text is about. */
export interface KeyOwner {
  readonly tenant: string;
  readonly generation: string;
  readonly subject?: string | undefined;
}

/**
 * Keys of an archive: a master key wraps one key per tenant, which wraps one per subject, or per generation where no subject is known. They
 * lie in a store of their own, outside backups of the archive.
 */
export interface Keyring {
  /** The key of a subject, or a new one for the generation. Durable only after `flush`. */
  keyFor(owner: KeyOwner): Promise<DataKey>;
  /** The key again, for what it has sealed or a later segment of the same generation. */
  open(tenant: string, kid: string): Promise<DataKey | "destroyed" | "unknown">;
  /** Everything that `keyFor` gave is stored when it resolves: no commit may name a key before. */
  flush(): Promise<void>;
  /** None of these keys can be had again. */
  destroy(tenant: string, kids: readonly string[]): Promise<void>;
  /** All keys that were made for a subject, destroyed ones left out. */
  kidsOf(tenant: string, subject: string): Promise<readonly string[]>;
  /** A keyed hash of text, 16 hex digits, the same at any time for a tenant. */
  tag(tenant: string, text: string): Promise<string>;
}
