import { type ArchiveFile, encodeFingerprints } from "@reprise/archive";
import { describe, expect, it } from "vitest";
import { filesInRange } from "./files-in-range.ts";

function file(key: string, first_at: number, last_at: number, generations: readonly string[]): ArchiveFile {
  const sizes = { bytes: 1, segments: generations.length, events: generations.length };
  return { key, sha256: "", ...sizes, first_at, last_at, generations: encodeFingerprints(generations) };
}
const keysOf = (files: readonly ArchiveFile[]) => files.map(({ key }) => key);

describe("the files that are searched in", () => {
  const files = [
    file("before", 0, 9, ["a"]),
    file("within", 10, 19, ["b", "c"]),
    file("goes-on", 30, 39, ["c", "d"]),
    file("later", 30, 39, ["d"]),
  ];

  it("are those that hold anything of the time, and later ones with how that went on", () => {
    expect(keysOf(filesInRange(files, { fromUs: 10, toUs: 20 }))).toEqual(["within", "goes-on"]);
  });

  it("are all where the time has no bounds, and none where nothing is of it", () => {
    expect(filesInRange(files, { fromUs: 0, toUs: Number.MAX_SAFE_INTEGER })).toEqual(files);
    expect(filesInRange(files, { fromUs: 40, toUs: 50 })).toEqual([]);
  });

  it("are those too that only touch the time with their ends: it has its beginning, and lacks its end", () => {
    expect(keysOf(filesInRange(files, { fromUs: 19, toUs: 30 }))).toEqual(["within", "goes-on"]);
    expect(keysOf(filesInRange(files, { fromUs: 20, toUs: 31 }))).toEqual(["goes-on", "later"]);
  });
});
