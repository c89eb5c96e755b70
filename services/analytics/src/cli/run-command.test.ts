import { Writable } from "node:stream";
import { join } from "node:path";
import { asSeq, encodeEvent } from "@reprise/protocol";
import { completed, createRef, createTempDir, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openArchiveWorld } from "../testing/archive-world.ts";
import { parseCommandEnvironment } from "../config.ts";
import { openAnalyticsStorage } from "../storage.ts";
import { runCommand } from "./run-command.ts";

const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
/** The master key of `openArchiveWorld`. */
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

test("rebuilds lost rows from the archive, into an empty store alone", async () => {
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
  expect(await run(["rebuild", "--replaces", "nonsense"], env)).toMatchObject({ code: 2 });
  const id = "0123456789abcdef01234567";
  const made = await run(["rebuild", "--replaces", id], env);
  expect(made).toMatchObject({
    code: 0,
    out: expect.stringContaining("3 rows written, 0 generations are still running"),
  });
  expect(made.out).toContain(`in place of ${id}`);
  expect(await run(["rebuild"], env)).toMatchObject({ code: 2 });
  await using source = await openAnalyticsStorage(parseCommandEnvironment(env)).openRows();
  const rows = await source.page({ tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 10 });
  expect(rows.map(({ metadata }) => metadata["plan"])).toEqual(
    expect.arrayContaining(["gold", "gold", "silver"]),
  );
  expect(rows).toHaveLength(3);
});
