import { createCipheriv, createHmac, createSecretKey } from "node:crypto";
import { hashText, LEAF_PREFIX, toHash } from "../merkle/hash.ts";
import { inclusionProof } from "../merkle/proofs.ts";
import { RunningRoot } from "../merkle/running-root.ts";
import type { ArchivedMessage } from "./segment-header.ts";

/*
 * A tree over the messages of one segment, whose root is in the header: it proves one of them to a verifier that can't open the segment, and
 * shows nothing of the others. A leaf is the hash of a salt, the message's place and time, and its payload.
 */

export const SALT_BYTES = 16;

/** The key and the nonce that seal a segment and derive its salts. */
interface TreeSecrets {
  readonly key: Uint8Array;
  /** The segment's. */
  readonly nonce: Uint8Array;
}

/** The proof of one message of a segment, given the segment's header. */
interface ShownMessage {
  readonly message: ArchivedMessage;
  readonly salt: Uint8Array;
  /** From the leaf upwards. */
  readonly siblings: readonly Uint8Array[];
}

/** The root of the tree over all messages of a segment. */
export function messagesRoot(messages: readonly ArchivedMessage[], { key, nonce }: TreeSecrets): Uint8Array {
  const salts = messageSalts(key, nonce, messages.length);
  const tree = new RunningRoot();
  for (const [i, message] of messages.entries()) tree.append(leafText(message, salts, i * SALT_BYTES));
  return tree.root();
}

/** @param index of the message that is to be shown. @throws RangeError when there is no such message */
export async function showMessage(
  messages: readonly ArchivedMessage[],
  index: number,
  { key, nonce }: TreeSecrets,
): Promise<ShownMessage> {
  const salts = messageSalts(key, nonce, messages.length);
  const leaves = messages.map((message, i) => leafText(message, salts, i * SALT_BYTES));
  const siblings = await inclusionProof(index, leaves.length, async (level, at) => {
    const tree = new RunningRoot();
    for (const leaf of leaves.slice(at * 2 ** level, (at + 1) * 2 ** level)) tree.append(leaf);
    return tree.root();
  });
  const salt = salts.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES);
  // `inclusionProof` throws where there is no such message.
  return { message: messages[index]!, salt, siblings };
}

/** A message's leaf. @param salt 16 bytes */
export function messageLeaf(message: ArchivedMessage, salt: Uint8Array): Uint8Array {
  return toHash(leafText(message, salt, 0));
}

const LABEL = "reprise message salts v1";
const CIPHER = "aes-256-ctr";
const ZERO_IV = new Uint8Array(16);

/**
 * Returns a salt for each message of a segment, concatenated. They are not stored but derived from the data key: without the key a
 * message can't be guessed from its hash, even after the key is destroyed. One salt reveals nothing about the others.
 * @param nonce the segment's, unique for each use of a key
 */
export function messageSalts(key: Uint8Array, nonce: Uint8Array, count: number): Uint8Array {
  const derived = createHmac("sha256", createSecretKey(key)).update(LABEL).update(nonce).digest();
  return createCipheriv(CIPHER, createSecretKey(derived), ZERO_IV).update(new Uint8Array(count * SALT_BYTES));
}

const PLACE_AT = 1 + SALT_BYTES;
const TIME_AT = PLACE_AT + 8;
const PAYLOAD_AT = TIME_AT + 8;

/** Fits the hashed input of most leaves; a larger payload gets a buffer of its own. */
const input = Buffer.alloc(4_096, LEAF_PREFIX);

/** @param saltAt where its salt begins in `salts` */
function leafText(
  { streamSeq, storedAtUs, payload }: ArchivedMessage,
  salts: Uint8Array,
  saltAt: number,
): string {
  const length = PAYLOAD_AT + payload.length;
  const leaf = length <= input.length ? input.subarray(0, length) : Buffer.alloc(length, LEAF_PREFIX);
  // `salts` has SALT_BYTES from `saltAt` on.
  for (let i = 0; i < SALT_BYTES; i++) leaf[1 + i] = salts[saltAt + i]!;
  writeSafeInteger(leaf, streamSeq, PLACE_AT);
  writeSafeInteger(leaf, storedAtUs, TIME_AT);
  leaf.set(payload, PAYLOAD_AT);
  return hashText(leaf);
}

/** 8 bytes, the most significant first. */
function writeSafeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  bytes.writeUInt32BE(value >>> 0, at + 4);
}
