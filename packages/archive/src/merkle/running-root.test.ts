import { expect, test } from "vitest";
import { hashText } from "./hash.ts";
import { countedLeaves, naiveRoot } from "./naive-tree.fixture.ts";
import { RunningRoot } from "./running-root.ts";

test("a running root is that of RFC 6962 after every leaf, from none to 300", () => {
  const leaves = countedLeaves(300);
  const tree = new RunningRoot();
  const roots = [tree.root()];
  for (const leaf of leaves) {
    tree.append(Buffer.from(leaf).toString("latin1"));
    roots.push(tree.root());
  }
  const expected = roots.map((_, size) => naiveRoot(leaves.slice(0, size)));
  expect(roots.map(toHex)).toEqual(expected.map(toHex));
});

test("a hash as text has one character for each byte, for any bytes", () => {
  const texts = Array.from({ length: 100 }, (_, i) => hashText(Uint8Array.of(i)));
  expect(texts.map(({ length }) => length)).toEqual(texts.map(() => 32));
  expect(Buffer.from(texts[1]!, "latin1").toString("hex")).toBe(
    "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a",
  );
});

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
