import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileStore, openKeyring, parseMasterKey } from "@reprise/archive";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { runCommand } from "../../testing/run-command.ts";
import { MASTER_KEY } from "../../testing/test-keys.ts";
import { rewrap } from "./rewrap.ts";

test("after it the new master key opens everything, and the old one nothing", async () => {
  await using dir = await createTempDir("rewrap");
  const store = createFileStore(join(dir.path, "wrapped"));
  const keyring = await openKeyring({ store, masterKey: MASTER_KEY });
  const key = await keyring.keyFor({ tenant: "acme", generation: "g" });
  await keyring.flush();
  await writeFile(join(dir.path, "master.key"), MASTER_KEY.toString("base64"), { mode: 0o600 });
  const newFile = join(dir.path, "new.key");
  const args = ["--keys", dir.path, "--new-master-key-file", newFile];
  expect(await runCommand(rewrap, args, {})).toMatchObject({ code: 0 });
  const masterKey = parseMasterKey(await readFile(newFile, "utf8"));
  expect(await (await openKeyring({ store, masterKey })).open("acme", key.kid)).toEqual(key);
  await expect(openKeyring({ store, masterKey: MASTER_KEY })).rejects.toMatchObject({
    code: "config_invalid",
  });
});
