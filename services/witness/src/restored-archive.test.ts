import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { COSIGNATURE, createFileStore, createNoteKey, encodeAddCheckpoint, SEEN_DIR } from "@reprise/archive";
import { createHistory, type History, LOG, ORIGIN } from "@reprise/archive/testing";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createWitness } from "./witness.ts";

const PAGE = join(import.meta.dirname, "../../../docs/operations/backup.md");
const key = createNoteKey("witness", Buffer.alloc(32, 4), COSIGNATURE);

/** The step of the page on restores. */
function readStep(): string {
  const [, section = ""] = readFileSync(PAGE, "utf8").split("### The witness\n");
  return /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "exit 1";
}

test("after the step of the restore page a witness cosigns the restored archive, and keeps what it has seen before", async () => {
  await using dir = await createTempDir("witness");
  const open = () =>
    createWitness({ store: createFileStore(join(dir.path, SEEN_DIR), "Its folder"), key, logs: [LOG] });
  const add = async (witness: ReturnType<typeof open>, oldSize: number, size: number, from: History) =>
    (
      await witness.add(
        encodeAddCheckpoint({ oldSize, proof: await from.proof(oldSize, size), note: from.note(size) }),
      )
    ).kind;
  const lost = createHistory("leaf", 20);
  const restored = createHistory("fork", 20);
  const before = open();
  expect(await add(before, 0, 10, lost)).toBe("cosigned");
  expect(await add(before, 10, 12, restored)).toBe("inconsistent");
  const [archive = ""] = ORIGIN.split("/");
  const env = { ...process.env, REPRISE_WITNESS_DIR: dir.path, ARCHIVE: archive };
  expect(spawnSync("sh", ["-e", "-c", readStep()], { env, encoding: "utf8" })).toMatchObject({
    status: 0,
    stderr: "",
  });
  const after = open();
  expect(await add(after, 0, 12, restored)).toBe("cosigned");
  expect(await add(after, 12, 20, restored)).toBe("cosigned");
  const kept = readdirSync(join(dir.path, "seen-before-restore"));
  expect(kept.map((name) => readFileSync(join(dir.path, "seen-before-restore", name), "utf8"))).toEqual([
    expect.stringContaining(`${ORIGIN}\n10\n`),
  ]);
});
