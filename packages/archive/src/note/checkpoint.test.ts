import { RepriseError } from "@reprise/protocol";
import { describe, expect, it, test } from "vitest";
import { encodeCheckpoint, parseCheckpoint } from "./checkpoint.ts";

const ROOT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

describe("a checkpoint", () => {
  it("is read as it was written", () => {
    const text = `reprise/acme\n20852163\n${ROOT}\n`;
    const checkpoint = parseCheckpoint(text);
    expect(checkpoint).toMatchObject({ origin: "reprise/acme", size: 20_852_163 });
    expect(encodeCheckpoint(checkpoint)).toBe(text);
  });

  test.each([
    ["no origin", `\n1\n${ROOT}\n`],
    ["no size", `a\n\n${ROOT}\n`],
    ["a size with leading zeros", `a\n01\n${ROOT}\n`],
    ["a negative size", `a\n-1\n${ROOT}\n`],
    ["a size that no number holds", `a\n99999999999999999\n${ROOT}\n`],
    ["a root that is cut", `a\n1\n${ROOT.slice(4)}\n`],
    ["a root that is written another way", `a\n1\n${ROOT.slice(0, -1)}\n`],
    ["an extension line", `a\n1\n${ROOT}\nmore\n`],
    ["no newline at its end", `a\n1\n${ROOT}`],
  ])("is not read from %s", (_, text) => {
    expect(() => parseCheckpoint(text)).toThrow(RepriseError);
  });
});
