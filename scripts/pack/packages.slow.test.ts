import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { runProgram } from "../run-program.ts";
import { packPackage } from "./pack-package.ts";
import { findPublic, readWorkspaces } from "./public-packages.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/@typescript/native/bin/tsc");
const bin = (name: string) => join(ROOT, "node_modules/.bin", name);
/** Packages that an app has beside ours, linked from the repository. */
const INSTALLED = ["ai", "@ai-sdk", "zod", "@types"];

const CONSUMER = `
import { createReprise, RepriseError as SameError } from "@reprise/ai-sdk";
import { createClient, RepriseError } from "@reprise/client";
import type { LanguageModel } from "ai";

const model: LanguageModel = createReprise({ baseUrl: "http://127.0.0.1:8080", apiKey: "rk_demo" })("sim");
const { generations } = createClient({ url: "http://127.0.0.1:8080", apiKey: "rk_demo" });
export async function read(): Promise<string> {
  let text = "";
  for await (const event of generations.run({ model: "sim", input: "Tell me." })) {
    if (event.type !== "output.delta") continue;
    // @ts-expect-error a string is no number
    const wrong: number = event.text;
    text += event.text + String(wrong);
  }
  return text;
}
// @ts-expect-error a request needs a model
export const refused = () => generations.run({ input: "Tell me." });
console.log(typeof model, RepriseError === SameError);
`;

test("public packages satisfy publint and Are The Types Wrong, and a strict project imports and type-checks them", async () => {
  await using dir = await createTempDir("packages");
  const modules = join(dir.path, "node_modules");
  await mkdir(join(modules, "@reprise"), { recursive: true });
  const workspaces = readWorkspaces(ROOT);
  const published = findPublic(workspaces);
  expect(published.length).toBeGreaterThan(1);
  for (const workspace of published) {
    const file = await packPackage(workspace, { root: ROOT, folder: dir.path, workspaces });
    await runProgram(bin("publint"), ["run", "--strict", file]);
    await runProgram(bin("attw"), [
      "--profile",
      "esm-only",
      "--format",
      "ascii",
      "--no-color",
      "--no-emoji",
      file,
    ]);
    await runProgram("tar", ["-xzf", file, "-C", dir.path]);
    await rename(join(dir.path, "package"), join(modules, workspace.manifest.name));
  }
  for (const name of INSTALLED) await symlink(join(ROOT, "node_modules", name), join(modules, name));
  await writeFile(join(dir.path, "package.json"), '{ "type": "module" }');
  await writeFile(join(dir.path, "consumer.mts"), CONSUMER);
  const strict = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"];
  const options = { cwd: dir.path };
  await runProgram(process.execPath, [TSC, ...strict, "--types", "node", "consumer.mts"], options);
  expect(await runProgram(process.execPath, ["consumer.mts"], options)).toBe("object true\n");
  const command = join(modules, "@reprise/conformance/dist/main.js");
  expect(await runProgram(process.execPath, [command, "--help"], options)).toContain("--key <key>");
});
