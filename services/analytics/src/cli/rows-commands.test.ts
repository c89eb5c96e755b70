import { Writable } from "node:stream";
import { join } from "node:path";
import { asSeq, encodeEvent } from "@reprise/protocol";
import { completed, createRef, createTempDir, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openArchiveWorld } from "../testing/archive-world.ts";
import { runCommand } from "./run-command.ts";

const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
/** Of `openArchiveWorld`. */
const MASTER_KEY = "07".repeat(32);

async function run(args: readonly string[], env: Record<string, string>) {
  const texts = { out: "", err: "" };
  const into = (name: "out" | "err") =>
    new Writable({
      write(chunk, _, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const code = await runCommand(args, { out: into("out"), err: into("err"), env });
  return { code, ...texts };
}

test("rows that are gone are made anew from the archive, once, and without rows nothing is compared", async () => {
  await using world = await openArchiveWorld();
  await using folder = await createTempDir("rows-commands");
  const log = (plan: string) => (ref: ReturnType<typeof createRef>) =>
    [requested(ref, { metadata: { plan } }), started(), delta("a"), completed()].map((draft, seq) => ({
      payload: encodeEvent(asSeq(seq), draft),
      storedAtUs: NOON_US + 1_000 * seq,
    }));
  for (const plan of ["gold", "silver", "gold"]) {
    const ref = createRef("acme");
    await world.addLog(ref, log(plan)(ref));
  }
  const env = {
    REPRISE_AUDIT_DIR: world.dir,
    REPRISE_AUDIT_KEYS_DIR: world.keysDir,
    REPRISE_AUDIT_MASTER_KEY: MASTER_KEY,
    REPRISE_ANALYTICS_DIR: join(folder.path, "rows"),
    REPRISE_ANALYTICS_KEYS: "plan",
  };
  const before = await run(["reconcile"], env);
  expect(before).toMatchObject({
    code: 3,
    err: expect.stringContaining("There are no rows of analytics in"),
  });
  expect(await run(["adopt"], env)).toMatchObject({ code: 2 });
  expect(await run(["rebuild", "--replaces", "nonsense"], env)).toMatchObject({ code: 2 });
  const id = "0123456789abcdef01234567";
  const made = await run(["rebuild", "--replaces", id], env);
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining("3 rows made, 0 generations go on") });
  expect(made.out).toContain(`in place of ${id}`);
  expect(await run(["rebuild"], env)).toMatchObject({ code: 2 });
  expect(await run(["reconcile"], env)).toMatchObject({
    code: 0,
    out: expect.stringContaining("no differences in 3 generations"),
  });
  expect(await run(["reconcile", "--tenant", "acne"], env)).toMatchObject({ code: 2 });
  const adopted = await run(["adopt"], env);
  expect(adopted).toMatchObject({ code: 0, out: expect.stringContaining(id) });
  expect(await run(["reconcile", "--tenant", "acme"], env)).toMatchObject({ code: 0 });
});
