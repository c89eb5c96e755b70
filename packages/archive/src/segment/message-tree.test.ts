import { asStreamSeq } from "@reprise/protocol";
import { createCipheriv, createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { naiveRoot } from "../merkle/naive-tree.fixture.ts";
import { verifyInclusion } from "../merkle/verify-proofs.ts";
import { messageSalts, SALT_BYTES, messageLeaf, messagesRoot, showMessage } from "./message-tree.ts";
import type { ArchivedMessage } from "./segment-header.ts";

const secrets = { key: Buffer.alloc(32, 1), nonce: Buffer.alloc(12, 2) };

const anyMessage: fc.Arbitrary<ArchivedMessage> = fc.record({
  streamSeq: fc.maxSafeNat().map(asStreamSeq),
  storedAtUs: fc.maxSafeNat(),
  payload: fc.oneof(fc.uint8Array(), fc.uint8Array({ minLength: 4_050, maxLength: 4_150 })),
});
const anyMessages = fc.array(anyMessage, { minLength: 1, maxLength: 40 });

/** By the letter of FORMAT.md, with nothing of the code. */
function saltOf({ key, nonce }: typeof secrets, index: number): Buffer {
  const derived = createHmac("sha256", key).update("reprise message salts v1").update(nonce).digest();
  const stream = createCipheriv("aes-256-ctr", derived, Buffer.alloc(16));
  return stream.update(Buffer.alloc(16 * (index + 1))).subarray(16 * index);
}

function leafOf({ streamSeq, storedAtUs, payload }: ArchivedMessage, salt: Buffer): Buffer {
  const place = Buffer.alloc(16);
  place.writeBigUInt64BE(BigInt(streamSeq));
  place.writeBigUInt64BE(BigInt(storedAtUs), 8);
  return createHash("sha256")
    .update(Buffer.concat([Buffer.of(0), salt, place, payload]))
    .digest();
}

describe("the tree over a segment's messages", () => {
  it("has the root that FORMAT.md says, for any messages", () => {
    fc.assert(
      fc.property(anyMessages, (messages) => {
        const leaves = messages.map((message, i) => leafOf(message, saltOf(secrets, i)));
        expect(Buffer.from(messagesRoot(messages, secrets))).toEqual(Buffer.from(naiveRoot(leaves)));
      }),
    );
  });

  it("shows each message of a segment of any size, and not at another place", async () => {
    const places = fc.nat(300).chain((last) => fc.tuple(fc.constant(last + 1), fc.nat(last)));
    await fc.assert(
      fc.asyncProperty(places, async ([size, index]) => {
        const messages = Array.from({ length: size }, (_, i) => messageAt(i));
        const { message, salt, siblings } = await showMessage(messages, index, secrets);
        const claim = {
          leaf: messageLeaf(message, salt),
          size,
          root: messagesRoot(messages, secrets),
          proof: siblings,
        };
        expect(message).toBe(messages[index]);
        expect(verifyInclusion({ ...claim, index })).toBe(true);
        expect(verifyInclusion({ ...claim, index: index ^ 1 })).toBe(false);
      }),
    );
  });

  it("has another root once anything of a message, their order, the key or the nonce is another", () => {
    const messages = [messageAt(0), messageAt(1), messageAt(2)];
    const changed = (change: Partial<ArchivedMessage>) => messages.with(1, { ...messages[1]!, ...change });
    const roots = [
      messagesRoot(messages, secrets),
      messagesRoot(changed({ streamSeq: asStreamSeq(0) }), secrets),
      messagesRoot(changed({ streamSeq: asStreamSeq(1 + 2 ** 32) }), secrets),
      messagesRoot(changed({ storedAtUs: 0 }), secrets),
      messagesRoot(changed({ payload: Buffer.from("word 1 ") }), secrets),
      messagesRoot(messages.toReversed(), secrets),
      messagesRoot(messages.slice(1), secrets),
      messagesRoot(messages, { ...secrets, key: Buffer.alloc(32, 3) }),
      messagesRoot(messages, { ...secrets, nonce: Buffer.alloc(12, 3) }),
    ];
    expect(new Set(roots.map((root) => Buffer.from(root).toString("hex"))).size).toBe(roots.length);
  });

  it("shows no message that the segment has not", async () => {
    await expect(async () => showMessage([messageAt(0)], 1, secrets)).rejects.toThrow(RangeError);
  });
});

describe("the salts of a segment's messages", () => {
  it("are all different, and always the same with the same key", () => {
    const salts = messageSalts(secrets.key, secrets.nonce, 1_000);
    expect(Buffer.compare(salts, messageSalts(secrets.key, secrets.nonce, 1_000))).toBe(0);
    const each = Array.from({ length: 1_000 }, (_, i) =>
      Buffer.from(salts.subarray(i * SALT_BYTES, (i + 1) * SALT_BYTES)).toString("hex"),
    );
    expect(new Set(each).size).toBe(1_000);
    expect(each[7]).toBe(saltOf(secrets, 7).toString("hex"));
  });
});

function messageAt(i: number): ArchivedMessage {
  return { streamSeq: asStreamSeq(i + 1), storedAtUs: 1_000 * i, payload: Buffer.from(`word ${i}`) };
}
