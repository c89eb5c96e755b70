import { asSeq } from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCheckpoint } from "../note/checkpoint.ts";
import { createNoteKey } from "../note/note-key.ts";
import { signNote } from "../note/signed-note.ts";
import { showMessage } from "../segment/message-tree.ts";
import { leafHashOf, sealSegment } from "../segment/segment.ts";
import { type ArchivedMessage, encodeSegmentHeader } from "../segment/segment-header.ts";
import { createLog } from "../testing/events.ts";
import { draftOf, testKey } from "../testing/segments.ts";
import { checkSegmentProof, type SegmentProof } from "./segment-proof.ts";

const signer = createNoteKey("test", Buffer.alloc(32, 9));
const key = testKey("a generation");
const nonce = Buffer.alloc(12, 5);
const keys = { vkeys: [signer], witnesses: [] };

/** Proves an event in a tree with one leaf. @param firstSeq of the log's part that these messages are */
async function prove(messages: readonly ArchivedMessage[], seq: number, firstSeq = 0): Promise<SegmentProof> {
  const segment = sealSegment(draftOf(messages, { first_seq: asSeq(firstSeq) }), messages, key, () => nonce);
  const { message, salt, siblings } = await showMessage(messages, seq - firstSeq, { key: key.key, nonce });
  const checkpoint = { origin: "test/acme", size: 1, root: leafHashOf(segment) };
  return {
    proof: "reprise.segment",
    v: 1,
    archive: "test",
    seq: asSeq(seq),
    header: Buffer.from(encodeSegmentHeader(segment.header)).toString(),
    sealed: toBase64(segment.sealed),
    event: {
      stream_seq: message.streamSeq,
      stored_at: message.storedAtUs,
      payload: toBase64(message.payload),
      salt: toBase64(salt),
      siblings: siblings.map(toBase64),
    },
    index: 0,
    siblings: [],
    checkpoint: signNote(encodeCheckpoint(checkpoint), [signer]),
  };
}

const log = createLog({ generation: "gen_0_a", events: 200, streamStride: 9 });
const anyPart = fc
  .tuple(fc.nat(199), fc.nat(199), fc.nat(199))
  .map(([a, b, c]) => [a, b, c].toSorted((x, y) => x - y) as [number, number, number]);

describe("a proof that shows an event", () => {
  it("holds for each event of a segment of any size, and shows it as it was stored", async () => {
    await fc.assert(
      fc.asyncProperty(anyPart, async ([first, seq, last]) => {
        const checked = checkSegmentProof(await prove(log.slice(first, last + 1), seq, first), keys);
        expect(checked).toMatchObject({ kind: "valid" });
        expect(checked).toHaveProperty("event.streamSeq", log[seq]!.streamSeq);
        expect(checked).toHaveProperty("event.storedAtUs", log[seq]!.storedAtUs);
        expect(checked).toHaveProperty("event.payload", Buffer.from(log[seq]!.payload));
      }),
    );
  });

  it("does not hold with any bit of what it shows flipped, nor with that of another event", async () => {
    await fc.assert(
      fc.asyncProperty(anyPart, fc.nat(), fc.nat(7), async ([first, seq, last], at, bit) => {
        const messages = log.slice(first, last + 1);
        const proof = await prove(messages, seq, first);
        const { event } = proof;
        const { payload, salt, siblings } = event!;
        const flipped = [
          { payload: flip(payload, at, bit) },
          { salt: flip(salt, at, bit) },
          ...siblings.map((hash, i) => ({ siblings: siblings.with(i, flip(hash, at, bit)) })),
        ];
        for (const change of flipped)
          expect(checkSegmentProof({ ...proof, event: { ...event!, ...change } }, keys).kind).toBe("wrong");
        const wrong = checkSegmentProof({ ...proof, seq: seq + 1 }, keys);
        expect(wrong.kind).toBe("wrong");
      }),
    );
  });

  it("does not hold when the event is another than its place says, sealed by any key holder", async () => {
    const shifted = log.slice(0, 10).with(4, log[7]!);
    expect(checkSegmentProof(await prove(shifted, 3), keys)).toMatchObject({ kind: "valid" });
    expect(checkSegmentProof(await prove(shifted, 4), keys)).toMatchObject({
      kind: "wrong",
      because: "what it shows is not event 4 of its segment",
    });
  });

  it("does not hold with a salt that is longer, of which the hash would not tell", async () => {
    const proof = await prove(log.slice(0, 10), 3);
    const salt = toBase64(Buffer.concat([Buffer.from(proof.event!.salt, "base64"), Buffer.of(0)]));
    expect(checkSegmentProof({ ...proof, event: { ...proof.event!, salt } }, keys).kind).toBe("wrong");
  });
});

it("a proof holds without the event", async () => {
  const { event: _, ...proof } = await prove(log, 100);
  expect(checkSegmentProof(proof, keys)).toMatchObject({ kind: "valid", event: undefined, treeSize: 1 });
});

it("a proof whose header says the same in other words does not hold", async () => {
  const proof = await prove(log.slice(0, 10), 3);
  const header = proof.header.replace('"epoch":0,', '"epoch":1,"epoch":0,');
  expect(checkSegmentProof({ ...proof, header }, keys)).toEqual({
    kind: "wrong",
    because: "its header is none",
  });
});

function flip(base64: string, at: number, bit: number): string {
  const bytes = Buffer.from(base64, "base64");
  bytes[at % bytes.length]! ^= 1 << bit;
  return toBase64(bytes);
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
