import { expect, test } from "vitest";
import { parseOsRelease } from "./machine.ts";

test("a system is known by its own name, those that it descends from, and its release", () => {
  const ubuntu = 'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n';
  const rocky = 'NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="10.1"\n';
  const fedora = "NAME='Fedora Linux'\nID='fedora'\nVERSION_ID=44\n";
  const sid = 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nID=debian\n';
  expect(parseOsRelease(ubuntu)).toEqual({ ids: ["ubuntu", "debian"], major: 24 });
  expect(parseOsRelease(rocky)).toEqual({ ids: ["rocky", "rhel", "centos", "fedora"], major: 10 });
  expect(parseOsRelease(fedora)).toEqual({ ids: ["fedora"], major: 44 });
  expect(parseOsRelease(sid)).toEqual({ ids: ["debian"], major: undefined });
  expect(parseOsRelease("")).toEqual({ ids: [], major: undefined });
});
