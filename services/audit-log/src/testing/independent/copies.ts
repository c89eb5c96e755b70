import { createDecipheriv, createHmac, hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "./files.ts";
import { must } from "./notes.ts";

/* §13 of packages/archive/FORMAT.md, for the independent verifier. Numbers are the page's. */

const KEY = /^blob\/tenant=([A-Za-z0-9_-]+)\/([A-Za-z0-9_-]+)\/\d+-\d+-[0-9a-f]{16}$/;
const TAG_BYTES = 16;

/** 13.2 */
export function checkCopyKey(tenant: string, { key, blob }: Json): void {
  const [, of, named] = KEY.exec(key) ?? [];
  must(of === tenant && named === blob, "13.2: key");
}

/** 13.3, and 13.4 where there is a key. */
export function checkCopy(dir: string, copy: Json, dataKey: Uint8Array | undefined): void {
  const { key, parts, bytes, sha256 } = copy;
  const stored: Buffer[] = [];
  for (let index = 0; index < parts; index++) {
    const path = join(dir, partKey(key, index));
    must(existsSync(path), "13.3: a part is missing");
    stored.push(readFileSync(path));
  }
  const all = Buffer.concat(stored);
  must(all.length === bytes && hash("sha256", all, "hex") === sha256, "13.3: hash");
  if (dataKey) openCopy(copy, stored, dataKey);
}

function openCopy(copy: Json, stored: readonly Buffer[], dataKey: Uint8Array): void {
  const { key, parts, blob, commitment, salt } = copy;
  const committed = Buffer.concat([Buffer.from("reprise key commitment v1"), dataKey]);
  must(hash("sha256", committed, "hex") === commitment, "13.4: commitment");
  const prefix = Buffer.concat([Buffer.from("reprise blob copy v1"), Buffer.from(salt, "hex")]);
  const copyKey = createHmac("sha256", dataKey).update(prefix).digest();
  const [first, ...content] = stored.map((part, index) => {
    const nonce = Buffer.alloc(12);
    nonce.writeUInt32BE(index, 8);
    const decipher = createDecipheriv("aes-256-gcm", copyKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(`${partKey(key, index)} ${parts}`));
    decipher.setAuthTag(part.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(part.subarray(0, -TAG_BYTES)), decipher.final()]);
  });
  const described: Json = JSON.parse(first?.toString() ?? "");
  const whole = Buffer.concat(content);
  must(described.v === 1 && described.blob === blob, "13.4: of another");
  must(described.bytes === whole.length, "13.4: length");
  must(described.sha256 === hash("sha256", whole, "hex"), "13.4: content");
}

function partKey(key: string, index: number): string {
  return `${key}/${String(index).padStart(6, "0")}`;
}
