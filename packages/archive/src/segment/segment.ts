import { createCipheriv, createDecipheriv, createSecretKey } from "node:crypto";
import { commitmentOf, type DataKey } from "../keys/keyring.ts";
import { hashLeaf } from "../merkle/hash.ts";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import { decodeMessages, encodeMessages, type MessageContext } from "./message-codec.ts";
import { messagesRoot } from "./message-tree.ts";
import {
  type ArchivedMessage,
  encodeSegmentHeader,
  type Segment,
  type SegmentHeader,
  toLeafData,
} from "./segment-header.ts";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A header before it is known what seals it. */
export type SegmentDraft = Omit<SegmentHeader, "messages_root" | "kid" | "commitment" | "nonce">;

/**
 * Compresses and encrypts consecutive messages of one generation.
 * @param randomBytes gives as many as it is asked for: a nonce, which must never come twice with one key
 * @throws RangeError when the draft is not of these messages, or they are more than a segment can hold
 */
export function sealSegment(
  draft: SegmentDraft,
  messages: readonly ArchivedMessage[],
  { kid, key, commitment }: DataKey,
  randomBytes: (size: number) => Uint8Array,
): Segment {
  if (
    draft.events !== messages.length ||
    draft.first_stream_seq !== messages[0]?.streamSeq ||
    draft.last_stream_seq !== messages.at(-1)?.streamSeq
  )
    throw new RangeError(`The header of a segment of ${messages.length} messages is not theirs.`);
  const nonce = randomBytes(NONCE_BYTES);
  const header: SegmentHeader = {
    ...draft,
    messages_root: toHex(messagesRoot(messages, { key, nonce })),
    kid,
    commitment,
    nonce: toHex(nonce),
  };
  const cipher = createCipheriv(CIPHER, createSecretKey(key), nonce);
  cipher.setAAD(encodeSegmentHeader(header));
  const sealed = cipher.update(encodeMessages(messages, contextOf(header)));
  return { header, sealed: Buffer.concat([sealed, cipher.final(), cipher.getAuthTag()]) };
}

/** The messages as they were. @throws RepriseError `archive_corrupt`: another key, or a header or bytes that were changed */
export function openSegment({ header, sealed }: Segment, { key }: Pick<DataKey, "key">): ArchivedMessage[] {
  if (commitmentOf(key) !== header.commitment)
    throw archiveCorrupt(`The key is not the one that segment ${nameOf(header)} was sealed with.`);
  return decodeMessages(decrypt({ header, sealed }, key), contextOf(header));
}

/** True if a segment's header has the root of these messages, which opening does not check. */
export function hasMessagesRoot(
  { nonce, messages_root }: SegmentHeader,
  messages: readonly ArchivedMessage[],
  { key }: Pick<DataKey, "key">,
): boolean {
  return messages_root === toHex(messagesRoot(messages, { key, nonce: Buffer.from(nonce, "hex") }));
}

/** The segment's leaf in its tenant's tree (RFC 6962). Says nothing of the text: it is a hash of what is encrypted. */
export function leafHashOf({ header, sealed }: Segment): Uint8Array {
  return hashLeaf(toLeafData(encodeSegmentHeader(header), sealed));
}

function decrypt({ header, sealed }: Segment, key: Uint8Array): Uint8Array {
  const nonce = Buffer.from(header.nonce, "hex");
  if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES)
    throw archiveCorrupt(`Segment ${nameOf(header)} is too short.`);
  const decipher = createDecipheriv(CIPHER, createSecretKey(key), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(encodeSegmentHeader(header));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  const bytes = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
  try {
    decipher.final();
  } catch (cause) {
    throw archiveCorrupt(`Segment ${nameOf(header)} was changed.`, cause);
  }
  return bytes;
}

function contextOf(header: SegmentHeader): MessageContext {
  return {
    count: header.events,
    streamSeq: header.first_stream_seq,
    storedAtUs: header.first_at,
    firstSeq: header.kind === "log" ? header.first_seq : undefined,
  };
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function nameOf({ generation, stream, epoch, first_stream_seq: first }: SegmentHeader): string {
  return `${generation} (${stream}, epoch ${epoch}, from ${first})`;
}
