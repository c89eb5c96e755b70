import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { runProgram } from "../../scripts/run-program.ts";
import { deliverOne } from "./deliver-one.fixture.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/@typescript/native/bin/tsc");
const SERVICE = "services/delivery";
const EXTENSIONS = `${SERVICE}/src/extensions`;
const FIXTURE = "test/house/deliver-one.fixture.ts";

const WHOLE = {
  status: "completed",
  text: "Hi.",
  blob: "blob_not_found input.0.content.0.blob",
  conversation: "conversation_not_found conversation",
  response: 200,
  stream: "stream_not_found undefined",
};
const WITHOUT: Readonly<Record<string, Partial<typeof WHOLE> | { response: string }>> = {
  blobs: { blob: "capability_unsupported input.0.content.0.blob" },
  conversations: {
    conversation: "capability_unsupported conversation",
    response: "capability_unsupported previous_response_id",
  },
  streams: { stream: "not_found null" },
};

test("a node with all extensions serves requests that need them, and a case below removes each", async () => {
  expect(await deliverOne()).toEqual(WHOLE);
  expect((await readdir(join(ROOT, EXTENSIONS))).toSorted()).toEqual(Object.keys(WITHOUT));
});

test.each(Object.keys(WITHOUT))(
  "delivery without the folder and the line of %s type-checks and serves",
  async (name) => {
    await using dir = await createTempDir("extensions");
    const copied = (path: string) => join(dir.path, path);
    await mkdir(copied("test/house"), { recursive: true });
    await cp(join(ROOT, FIXTURE), copied(FIXTURE));
    await cp(join(ROOT, SERVICE), copied(SERVICE), {
      recursive: true,
      filter: (path) => !path.startsWith(join(ROOT, EXTENSIONS, name)) && !path.endsWith("node_modules"),
    });
    // Packages that npm did not hoist are in the second.
    for (const path of ["node_modules", `${SERVICE}/node_modules`].filter((one) =>
      existsSync(join(ROOT, one)),
    ))
      await symlink(join(ROOT, path), copied(path));
    await removeLine(copied(`${EXTENSIONS}.ts`), `/extensions/${name}/`);
    await writeFile(copied("package.json"), '{ "type": "module" }');
    const include = [`${SERVICE}/src`, FIXTURE];
    await writeFile(
      copied("tsconfig.json"),
      JSON.stringify({ extends: join(ROOT, "tsconfig.json"), include }),
    );
    await runProgram(TSC, ["-p", dir.path]);
    const script = `import { deliverOne } from "./${FIXTURE}"; console.log(JSON.stringify(await deliverOne()));`;
    const printed = await runProgram(process.execPath, ["--input-type=module", "-e", script], {
      cwd: dir.path,
    });
    expect(JSON.parse(printed)).toEqual({ ...WHOLE, ...WITHOUT[name] });
  },
);

async function removeLine(path: string, text: string): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n");
  const left = lines.filter((line) => !line.includes(text));
  expect(lines.length - left.length).toBe(1);
  await writeFile(path, left.join("\n"));
}
