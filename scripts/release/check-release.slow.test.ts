import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { checkRelease } from "./check-release.ts";

const root = join(import.meta.dirname, "../..");

test("this commit passes the release check as far as it needs no registry: its package streams from a platform in an empty project", async () => {
  await using dir = await createTempDir("release");
  const said: string[] = [];
  const passed = await checkRelease({
    root,
    folder: join(dir.path, "packages"),
    say: (line) => said.push(line),
  });
  expect(passed, said.join("\n")).toBe(true);
  expect(said.join("\n")).toMatch(/streamed, resumed and cancelled: Node v24\.\S+, by require in Node 24/);
});
