import { createCipheriv, createHmac } from "node:crypto";
import { must, openCheckpoint } from "./notes.ts";
import { hashLeaf, rootByPath, rootOf, toLeafData } from "./tree.ts";

/* §12 of packages/archive/FORMAT.md, for the independent verifier. Numbers are the page's. */

// What is read is untrusted: every use of it is checked, so its type says nothing.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

interface Message {
  readonly place: number;
  readonly storedAtUs: number;
  readonly payload: Buffer;
}

/** 12.1, 12.2 */
export function messagesRoot(messages: readonly Message[], key: Uint8Array, nonce: Buffer): string {
  const label = Buffer.from("reprise message salts v1");
  const secret = createHmac("sha256", key)
    .update(Buffer.concat([label, nonce]))
    .digest();
  const salts = createCipheriv("aes-256-ctr", secret, Buffer.alloc(16)).update(
    Buffer.alloc(16 * messages.length),
  );
  const leaves = messages.map((message, i) => leafOf(message, salts.subarray(16 * i, 16 * (i + 1))));
  return rootOf(leaves).toString("hex");
}

/** 12.4. @returns the event's text, if it is shown. @throws Error when the proof does not hold */
export function checkProofIndependently(json: string, vkey: string): string | undefined {
  const proof: Json = JSON.parse(json);
  const header: Json = JSON.parse(proof.header);
  must(header.kind === "log" && proof.seq >= header.first_seq && proof.seq <= header.last_seq, "12.4: seq");
  const { origin, size, root } = openCheckpoint(proof.checkpoint, [vkey]);
  must(origin === `${proof.archive}/${header.tenant}`, "12.4: origin");
  const leaf = hashLeaf(toLeafData(Buffer.from(proof.header), fromBase64(proof.sealed)));
  must(
    rootByPath(leaf, proof.index, size, proof.siblings.map(fromBase64)).equals(root),
    "12.4: the segment is no leaf",
  );
  if (proof.event === undefined) return undefined;
  const { stream_seq: place, stored_at: storedAtUs, payload, salt, siblings } = proof.event;
  const event = { place, storedAtUs, payload: fromBase64(payload) };
  const text = event.payload.toString();
  must(fromBase64(salt).length === 16 && text.startsWith(`{"seq":${proof.seq},`), "12.4: event");
  const shown = leafOf(event, fromBase64(salt));
  const path = siblings.map(fromBase64);
  must(
    rootByPath(shown, proof.seq - header.first_seq, header.events, path).toString("hex") ===
      header.messages_root,
    "12.4: the event is no leaf",
  );
  return text;
}

function leafOf({ place, storedAtUs, payload }: Message, salt: Buffer): Buffer {
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(BigInt(place), 0);
  numbers.writeBigUInt64BE(BigInt(storedAtUs), 8);
  return hashLeaf(Buffer.concat([salt, numbers, payload]));
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, "base64");
}
