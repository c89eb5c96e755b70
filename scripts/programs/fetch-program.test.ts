import { expect, test } from "vitest";
import { usesDebianArchive } from "./fetch-program.ts";

test("programs come out of the machine's archive on Debian and its kin, and on no other system", () => {
  const archive = [
    { format: "lines", text: "deb http://mirror.example.test/debian bookworm main\n" },
  ] as const;
  const uses = (ids: string, sources: Parameters<typeof usesDebianArchive>[1]) =>
    usesDebianArchive({ platform: "linux", arch: "x64", ids: ids.split(" "), major: undefined }, sources);
  expect(["debian", "linuxmint debian"].map((ids) => uses(ids, archive))).toEqual([true, true]);
  // A vendor's packages for Debian don't make an Ubuntu one.
  expect(["ubuntu debian", "pop ubuntu debian", "fedora"].map((ids) => uses(ids, archive))).toEqual([
    false,
    false,
    false,
  ]);
  expect(uses("debian", [])).toBe(false);
});
