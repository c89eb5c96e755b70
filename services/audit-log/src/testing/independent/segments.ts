import { createDecipheriv, hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { messagesRoot } from "./messages.ts";
import { must } from "./notes.ts";

/* §10 and §11 of packages/archive/FORMAT.md, for the independent verifier. Numbers are the page's. */

export interface IndependentMessage {
  readonly place: number;
  readonly storedAtUs: number;
  readonly payload: Buffer;
  readonly text: string;
}

// What is read is untrusted: every use of it is checked, so its type says nothing.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const TAG_BYTES = 16;

/** 10.1. @param dir the keys' folder. @returns undefined for a key that was destroyed */
export function unwrapIndependently(
  dir: string,
  masterKey: Uint8Array,
  { tenant, kid }: { tenant: string; kid: string },
): Buffer | undefined {
  const read = (key: string): Json => JSON.parse(readFileSync(join(dir, key), "utf8"));
  const tenantKey = unwrap(read(`kek/${tenant}`).wrapped, masterKey, `kek/${tenant}`);
  const [kind, place, n] = kid.split(".");
  const key = kind === "s" ? `tenant/${tenant}/subject/${place}/${n}` : `tenant/${tenant}/page/${place}`;
  must(existsSync(join(dir, key)), "10.1: no such key");
  let page = read(key);
  for (let before = 0; page.moved_to !== undefined; page = read(`${key}.${before}`)) {
    must(page.moved_to > before, "10.1: moved back");
    before = page.moved_to;
  }
  const entry = page.keys[kind === "s" ? 0 : Number(n)];
  return entry.wrapped === undefined ? undefined : unwrap(entry.wrapped, tenantKey, `${tenant}/${kid}`);
}

function unwrap(wrapped: string, key: Uint8Array, context: string): Buffer {
  const bytes = Buffer.from(wrapped, "base64");
  return decrypt(bytes.subarray(12), { key, nonce: bytes.subarray(0, 12), context: Buffer.from(context) });
}

function decrypt(
  sealed: Uint8Array,
  { key, nonce, context }: { key: Uint8Array; nonce: Uint8Array; context: Uint8Array },
): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(context);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

/** 11.1 to 11.4, 12.1. @param header as it is stored */
export function openIndependently(header: string, sealed: Uint8Array, key: Uint8Array): IndependentMessage[] {
  const { v, commitment, nonce, kind, events, ...said }: Json = JSON.parse(header);
  must(v === 1, "3: version");
  const label = Buffer.from("reprise key commitment v1");
  must(hash("sha256", Buffer.concat([label, key]), "hex") === commitment, "11.1: commitment");
  const bytes = decrypt(sealed, { key, nonce: Buffer.from(nonce, "hex"), context: Buffer.from(header) });
  must(bytes[0] === 1, "11.2: version");
  const content = zstdDecompressSync(bytes.subarray(1));
  let at = 0;
  const [places, times, implied, starts, ends, lengths] = Array.from({ length: 6 }, () => {
    const width = content[at++]!;
    must(width <= 8 && at + width * events <= content.length, "11.3: column");
    const planes = content.subarray(at, (at += width * events));
    return Array.from({ length: events }, (_, i) => numberAt(planes, i, events));
  }) as [bigint[], bigint[], bigint[], bigint[], bigint[], bigint[]];

  let before: Buffer = Buffer.alloc(0);
  let [place, time] = [BigInt(said.first_stream_seq), BigInt(said.first_at)];
  const messages = Array.from({ length: events }, (_, i): IndependentMessage => {
    const [start, end, length] = [Number(starts[i]), Number(ends[i]), Number(lengths[i])];
    must(start + end <= before.length && at + length <= content.length, "11.4: lengths");
    const middle = content.subarray(at, (at += length));
    before = Buffer.concat([before.subarray(0, start), middle, before.subarray(before.length - end)]);
    const head = implied[i] === 0n ? "" : `{"seq":${said.first_seq + i},`;
    const payload = Buffer.concat([Buffer.from(head), before]);
    const text = payload.toString();
    if (kind === "log") must(JSON.parse(text).seq === said.first_seq + i, "11.4: seqs");
    place += places[i]!;
    time += times[i]!;
    return { place: Number(place), storedAtUs: Number(time), payload, text };
  });
  must(at === content.length, "11.4: left over");
  const [first, last] = [messages[0]!, messages.at(-1)!];
  must(first.place === said.first_stream_seq && last.place === said.last_stream_seq, "11.4: places");
  must(first.storedAtUs === said.first_at && last.storedAtUs === said.last_at, "11.4: times");
  must(messagesRoot(messages, key, Buffer.from(nonce, "hex")) === said.messages_root, "12.1: root");
  return messages;
}

/** 11.3 */
function numberAt(planes: Uint8Array, i: number, count: number): bigint {
  let value = 0n;
  let bits = 0;
  for (let at = i; at < planes.length; at += count, bits += 8) value = value * 256n + BigInt(planes[at]!);
  return BigInt.asIntN(bits, value);
}
