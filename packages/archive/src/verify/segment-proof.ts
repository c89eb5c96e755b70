import { RepriseError } from "@reprise/protocol";
import * as z from "zod";
import { hashLeaf } from "../merkle/hash.ts";
import { verifyInclusion } from "../merkle/verify-proofs.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import { cosignedAt } from "../note/cosignature.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import { openSegment } from "../segment/segment.ts";
import {
  type ArchivedMessage,
  type SegmentHeader,
  segmentHeaderSchema,
  toLeafData,
} from "../segment/segment-header.ts";

/**
 * Shows that an archive holds an event, to whoever knows the archive's verifier key: one segment of one generation, its way up the tenant's tree, and
 * the signed checkpoint of that tree. Of everything else it has hashes of ciphertext only.
 */
export const segmentProofSchema = z.strictObject({
  proof: z.literal("reprise.segment"),
  v: z.literal(1),
  /** Of the archive. */
  archive: z.string(),
  /** What it is about: an event of the segment's generation. */
  seq: z.int().min(0),
  /** As it is hashed. */
  header: z.string(),
  /** Base64, as is all else that follows but the note. */
  sealed: z.base64(),
  /** Opens what is sealed with it: every segment of the generation. Left out when the text is not to be shown. */
  key: z.base64().optional(),
  /** The event's text as whoever made the proof gives it, without a key that opens what is sealed: nothing shows that it is that. */
  claimed: z.string().optional(),
  /** Of the segment in the tenant's tree. */
  index: z.int().min(0),
  /** From the leaf upwards. */
  siblings: z.array(z.base64()),
  /** A signed note, possibly with cosignatures. */
  checkpoint: z.string(),
});
export type SegmentProof = z.infer<typeof segmentProofSchema>;

export type CheckedProof =
  | {
      readonly kind: "valid";
      readonly header: SegmentHeader;
      /** How large the tree was that is signed. */
      readonly treeSize: number;
      /** Witnesses that have seen that tree, and when, in seconds since 1970. */
      readonly cosigned: readonly { readonly witness: string; readonly atSeconds: number }[];
      /** Undefined when the proof has no key. */
      readonly event: ArchivedMessage | undefined;
      /** What is said to be the event's text, and is not proved. */
      readonly claimed: string | undefined;
    }
  | { readonly kind: "wrong"; readonly because: string }
  /** One of the witnesses that were asked for has not signed: it can't be told whether everybody sees the same archive. */
  | { readonly kind: "unwitnessed"; readonly witness: string };

export interface ProofKeys {
  /** Of the archive: one must have signed. At least one. */
  vkeys: readonly VerifierKey[];
  /** All must have cosigned. */
  witnesses: readonly VerifierKey[];
}

/** Needs nothing but the proof and the keys. @param json whatever somebody says is a proof */
export function checkSegmentProof(json: unknown, { vkeys, witnesses }: ProofKeys): CheckedProof {
  const parsed = segmentProofSchema.safeParse(json);
  if (!parsed.success) return wrong("it is no proof of a segment");
  const proof = parsed.data;
  const header = parseHeader(proof.header);
  if (!header) return wrong("its header is none");
  const { seq } = proof;
  if (header.kind !== "log" || seq < header.first_seq || seq > header.last_seq)
    return wrong(`event ${seq} is not in its segment`);
  try {
    const { text, verified } = openNote(proof.checkpoint, vkeys);
    if (verified.length === 0) return wrong("its checkpoint is signed by none of the given keys");
    const { origin, size, root } = parseCheckpoint(text);
    if (origin !== `${proof.archive}/${header.tenant}`) return wrong("its checkpoint is of another tree");
    const sealed = Buffer.from(proof.sealed, "base64");
    const leaf = hashLeaf(toLeafData(Buffer.from(proof.header), sealed));
    const siblings = proof.siblings.map((hash) => Buffer.from(hash, "base64"));
    if (!verifyInclusion({ leaf, index: proof.index, size, root, proof: siblings }))
      return wrong("its segment is not in the tree");
    const cosigned = witnesses.map((witness) => ({
      witness: witness.name,
      atSeconds: cosignedAt(proof.checkpoint, witness),
    }));
    const silent = cosigned.find(({ atSeconds }) => atSeconds === undefined);
    if (silent) return { kind: "unwitnessed", witness: silent.witness };
    const event =
      proof.key === undefined
        ? undefined
        : openSegment({ header, sealed }, { key: Buffer.from(proof.key, "base64") })[seq - header.first_seq];
    return {
      kind: "valid",
      header,
      treeSize: size,
      cosigned: cosigned.map(({ witness, atSeconds }) => ({ witness, atSeconds: atSeconds! })),
      event,
      claimed: proof.claimed,
    };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    return wrong(error.message);
  }
}

/** Nothing is made of it anew: the leaf is a hash of the text as it stands. */
function parseHeader(text: string): SegmentHeader | undefined {
  try {
    return segmentHeaderSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function wrong(because: string): CheckedProof {
  return { kind: "wrong", because };
}
