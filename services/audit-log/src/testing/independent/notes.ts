import { createPublicKey, verify } from "node:crypto";

/* §6 of packages/archive/FORMAT.md, for the independent verifier. */

const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** @throws Error when it does not hold. @param what the number of the rule */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** A checkpoint that is signed with one of the keys. */
export function openCheckpoint(
  note: string,
  vkeys: readonly string[],
): { origin: string; size: number; root: Buffer } {
  const at = note.lastIndexOf("\n\n") + 1;
  const text = note.slice(0, at);
  const [origin = "", size, root = ""] = text.split("\n");
  let signers = 0;
  for (const vkey of vkeys) {
    const [, name, keyId, key] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
    const der = Buffer.concat([SPKI, Buffer.from(key!, "base64").subarray(1)]);
    const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
    for (const line of note.slice(at + 1, -1).split("\n")) {
      const [dash, who, encoded = ""] = line.split(" ");
      const bytes = Buffer.from(encoded, "base64");
      if (dash !== "—" || who !== name || bytes.toString("hex", 0, 4) !== keyId) continue;
      must(verify(null, Buffer.from(text), publicKey, bytes.subarray(4)), "6.2: signature");
      signers++;
    }
  }
  must(signers > 0 || vkeys.length === 0, "6.3: not signed");
  return { origin, size: Number(size), root: Buffer.from(root, "base64") };
}
