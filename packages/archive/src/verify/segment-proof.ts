import { peekSeq, RepriseError, type Seq } from "@reprise/protocol";
import * as z from "zod";
import { hashLeaf } from "../merkle/hash.ts";
import { verifyInclusion } from "../merkle/verify-proofs.ts";
import { parseCheckpoint } from "../note/checkpoint.ts";
import { cosignedAt } from "../note/cosignature.ts";
import type { VerifierKey } from "../note/note-key.ts";
import { openNote } from "../note/signed-note.ts";
import { SALT_BYTES, messageLeaf } from "../segment/message-tree.ts";
import {
  type ArchivedMessage,
  encodeSegmentHeader,
  type SegmentHeader,
  segmentHeaderSchema,
  toLeafData,
} from "../segment/segment-header.ts";

/**
 * Proves that an archive holds an event, given the archive's verifier key: the segment that holds it, its way up the tenant's tree, and the
 * signed checkpoint of that tree; and, where the event is to be seen, the event and its way up the tree of the segment's messages. It opens nothing:
 * of all else it has ciphertext and hashes that can't be guessed.
 */
export const segmentProofSchema = z.strictObject({
  proof: z.literal("reprise.segment"),
  v: z.literal(1),
  /** Name of the archive. */
  archive: z.string(),
  /** The proven event of the segment's generation. */
  seq: z.int().min(0).brand<"Seq">(),
  /** The header as hashed. */
  header: z.string(),
  /** Base64, as is all else that follows but the note. */
  sealed: z.base64(),
  /** Left out when the event is not to be seen. Where it is in the segment follows from its seq. */
  event: z
    .strictObject({
      stream_seq: z.int().min(0).brand<"StreamSeq">(),
      /** Microseconds since 1970. */
      stored_at: z.int().min(0),
      payload: z.base64(),
      salt: z.base64(),
      /** From the leaf upwards. */
      siblings: z.array(z.base64()),
    })
    .optional(),
  /** Index of the segment in the tenant's tree. */
  index: z.int().min(0),
  /** From the leaf upwards. */
  siblings: z.array(z.base64()),
  /** A signed note, possibly with cosignatures. */
  checkpoint: z.string(),
});
export type SegmentProof = z.infer<typeof segmentProofSchema>;
type ShownEvent = NonNullable<SegmentProof["event"]>;

export type CheckedProof =
  | {
      readonly kind: "valid";
      readonly header: SegmentHeader;
      /** Size of the signed tree. */
      readonly treeSize: number;
      /** Witnesses that have seen that tree, and when, in seconds since 1970. */
      readonly cosigned: readonly { readonly witness: string; readonly atSeconds: number }[];
      /** Undefined when the proof does not show it. */
      readonly event: ArchivedMessage | undefined;
    }
  | { readonly kind: "wrong"; readonly because: string }
  /** One of the witnesses that were asked for has not signed: it is unknown whether all readers see the same archive. */
  | { readonly kind: "unwitnessed"; readonly witness: string };

export interface ProofKeys {
  /** Keys of the archive, at least one: one of them must have signed. */
  vkeys: readonly VerifierKey[];
  /** All must have cosigned. */
  witnesses: readonly VerifierKey[];
}

/** Needs nothing but the proof and the keys. @param json an untrusted proof */
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
    const leaf = hashLeaf(toLeafData(Buffer.from(proof.header), fromBase64(proof.sealed)));
    const siblings = proof.siblings.map(fromBase64);
    if (!verifyInclusion({ leaf, index: proof.index, size, root, proof: siblings }))
      return wrong("its segment is not in the tree");
    const event = proof.event && toMessage(proof.event);
    if (event && proof.event && !isShown(event, proof.event, seq, header))
      return wrong(`what it shows is not event ${seq} of its segment`);
    const cosigned = witnesses.map((witness) => ({
      witness: witness.name,
      atSeconds: cosignedAt(proof.checkpoint, witness),
    }));
    const silent = cosigned.find(({ atSeconds }) => atSeconds === undefined);
    if (silent) return { kind: "unwitnessed", witness: silent.witness };
    return {
      kind: "valid",
      header,
      treeSize: size,
      // No witness is silent.
      cosigned: cosigned.map(({ witness, atSeconds }) => ({ witness, atSeconds: atSeconds! })),
      event,
    };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    return wrong(error.message);
  }
}

function toMessage({ stream_seq, stored_at, payload }: ShownEvent): ArchivedMessage {
  return { streamSeq: stream_seq, storedAtUs: stored_at, payload: fromBase64(payload) };
}

/** The tree has it at the place of `seq`, and it says itself that it is that. */
function isShown(
  message: ArchivedMessage,
  { salt: text, siblings }: ShownEvent,
  seq: Seq,
  { first_seq, events, messages_root }: SegmentHeader,
): boolean {
  const salt = fromBase64(text);
  // A salt of another length would shift what the rest is taken for.
  if (salt.length !== SALT_BYTES || peekSeq(message.payload) !== seq) return false;
  return verifyInclusion({
    leaf: messageLeaf(message, salt),
    index: seq - first_seq,
    size: events,
    root: Buffer.from(messages_root, "hex"),
    proof: siblings.map(fromBase64),
  });
}

/** Undefined also for one that says the same in another way: readers could take it for different headers. */
function parseHeader(text: string): SegmentHeader | undefined {
  try {
    const header = segmentHeaderSchema.parse(JSON.parse(text));
    return Buffer.from(encodeSegmentHeader(header)).toString() === text ? header : undefined;
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}

function wrong(because: string): CheckedProof {
  return { kind: "wrong", because };
}
