import { RepriseError } from "@reprise/protocol";

/** Body of a POST to `/add-checkpoint` of a witness: https://c2sp.org/tlog-witness. */
export interface AddCheckpoint {
  /** Size of the last tree that the witness has seen; 0 for none. */
  readonly oldSize: number;
  /** Consistency proof from that tree to the checkpoint's tree. */
  readonly proof: readonly Uint8Array[];
  /** The signed checkpoint. */
  readonly note: string;
}

const HASH_BYTES = 32;
/** A tree of more than 2 ** 63 leaves does not exist. */
const MAX_PROOF = 63;

export function encodeAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  const lines = proof.map((hash) => `${Buffer.from(hash).toString("base64")}\n`);
  return `old ${oldSize}\n${lines.join("")}\n${note}`;
}

/** @throws RepriseError `invalid_request` */
export function parseAddCheckpoint(body: string): AddCheckpoint {
  const split = body.indexOf("\n\n");
  const [old = "", ...hashes] = body.slice(0, Math.max(0, split)).split("\n");
  const oldSize = /^old (0|[1-9][0-9]{0,14})$/.exec(old)?.[1];
  const proof = hashes.map((text) => Buffer.from(text, "base64"));
  const areHashes = proof.every(
    (bytes, i) => bytes.length === HASH_BYTES && bytes.toString("base64") === hashes[i],
  );
  if (oldSize === undefined || !areHashes || proof.length > MAX_PROOF)
    throw new RepriseError("invalid_request", "The body is not a checkpoint with a consistency proof.");
  return { oldSize: Number(oldSize), proof, note: body.slice(split + 2) };
}
