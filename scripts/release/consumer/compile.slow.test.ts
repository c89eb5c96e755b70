import { createTempDir } from "@reprise/testkit";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, findOwnErrors } from "./compile.ts";

const TSC = join(import.meta.dirname, "../../../node_modules/@typescript/native/bin/tsc");

test("errors in the declarations of the AI SDK are left out, with all of their lines; others are kept", () => {
  const foreign =
    "node_modules/@ai-sdk/provider/dist/index.d.ts(1,82): error TS7016: no json-schema.\n  Try npm i";
  const own = "node_modules/@reprise/ai-sdk/types/index.d.ts(1,1): error TS2307: no module.\n  Look again";
  const user = "types.mts(3,1): error TS2578: Unused '@ts-expect-error' directive.";
  expect(findOwnErrors([foreign, own, foreign, user].join("\n"))).toEqual([own, user]);
  expect(findOwnErrors(foreign)).toEqual([]);
});

test("what does not compile is said", async () => {
  await using dir = await createTempDir("compile");
  await writeFile(join(dir.path, "wrong.mts"), "export const one: number = 'two';\n");
  const [error] = await compile(dir.path, TSC, [
    "--noEmit",
    "--strict",
    "--types",
    "",
    "--lib",
    "es2022",
    "wrong.mts",
  ]);
  expect(error).toContain("wrong.mts(1,14): error TS2322");
});
