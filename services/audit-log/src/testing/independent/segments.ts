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
const FORMAT = new URL("../../../../../packages/archive/FORMAT.md", import.meta.url);
/** §11.4: before and after a core. */
const SHAPES = [
  ["", ""],
  [',"type":"output.delta","text":"', '"}'],
  [',"type":"output.delta","text":"', "}"],
  [',"type":"reasoning.delta","text":"', '"}'],
  [',"type":"reasoning.delta","text":"', "}"],
  [',"type":"', "}"],
] as const;

/** 11.5 */
function readDictionary(): Buffer {
  const [, lines] = /```dictionary\n([^]*?)\n```/.exec(readFileSync(FORMAT, "utf8")) ?? [];
  return Buffer.from(lines ?? "");
}

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

/** 11.1 to 11.4, 11.6, 12.1. @param header as it is stored */
export function openIndependently(header: string, sealed: Uint8Array, key: Uint8Array): IndependentMessage[] {
  const { v, commitment, nonce, kind, events, ...said }: Json = JSON.parse(header);
  must(v === 1, "3: version");
  const label = Buffer.from("reprise key commitment v1");
  must(hash("sha256", Buffer.concat([label, key]), "hex") === commitment, "11.1: commitment");
  const bytes = decrypt(sealed, { key, nonce: Buffer.from(nonce, "hex"), context: Buffer.from(header) });
  const bits = new Bits(bytes);
  must(bits.take(8) === 1, "11.2: version");
  const coreBytes = bits.varint();
  const shapes: number[] = [];
  while (shapes.length < events) {
    const shape = bits.take(8);
    shapes.push(...Array.from({ length: bits.varint() }, () => shape));
  }
  must(shapes.length === events, "11.2: shapes");
  const places = deltas(bits, events, said.first_stream_seq);
  const times = deltas(bits, events, said.first_at);
  const lengths = codes(bits, events, undefined);
  const dictionary = readDictionary();
  const cores = zstdDecompressSync(bytes.subarray(bits.wholeBytes), { dictionary });
  must(cores.length === coreBytes, "11.6: cores");

  let at = 0;
  const messages = shapes.map((shape, i): IndependentMessage => {
    const core = cores.subarray(at, (at += lengths[i]!));
    const [before, after] = SHAPES[shape]!;
    const start = Buffer.from(`{"seq":${said.first_seq + i}${before}`);
    const payload = shape === 0 ? core : Buffer.concat([start, core, Buffer.from(after)]);
    const text = payload.toString();
    if (kind === "log") must(JSON.parse(text).seq === said.first_seq + i, "11.6: seqs");
    return { place: places[i]!, storedAtUs: times[i]!, payload, text };
  });
  must(at === coreBytes, "11.6: lengths");
  const [first, last] = [messages[0]!, messages.at(-1)!];
  must(first.place === said.first_stream_seq && last.place === said.last_stream_seq, "11.6: places");
  must(first.storedAtUs === said.first_at && last.storedAtUs === said.last_at, "11.6: times");
  must(messagesRoot(messages, key, Buffer.from(nonce, "hex")) === said.messages_root, "12.1: root");
  return messages;
}

class Bits {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** How many bytes are begun. */
  get wholeBytes(): number {
    return Math.ceil(this.#at / 8);
  }

  /** @param count up to 53 */
  take(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++, this.#at++) {
      const byte = this.#bytes[this.#at >> 3];
      must(byte !== undefined, "11.6: too short");
      value = value * 2 + ((byte! >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const group = this.take(8);
      value += (group % 128) * scale;
      if (group < 128) return value;
    }
  }
}

/** 11.3 */
function deltas(bits: Bits, count: number, start: number): number[] {
  const first = bits.take(1) === 0 ? start : bits.take(53);
  return [first, ...codes(bits, count - 1, first)];
}

/** 11.3. @param before of deltas; undefined for numbers */
function codes(bits: Bits, count: number, before: number | undefined): number[] {
  const base = unfold(bits.varint());
  const k = bits.take(6);
  const numbers: number[] = [];
  for (let i = 0; i < count; i++) {
    const expected = base + (before === undefined ? 0 : (numbers.at(-1) ?? before));
    numbers.push(k === 32 ? expected : code(bits, k, expected));
  }
  return numbers;
}

function code(bits: Bits, k: number, expected: number): number {
  for (let ones = 0; ones < 20; ones++)
    if (bits.take(1) === 0) return expected + unfold(ones * 2 ** k + bits.take(k));
  return bits.take(53);
}

function unfold(folded: number): number {
  return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
}
