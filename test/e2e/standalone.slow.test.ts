import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFileStore, openArchive, parseNoteKey } from "@reprise/archive";
import { createClient } from "@reprise/client";
import { bundleProgram, createTempDir, readCommandLine, startService } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { readNatsPid, startPlatform } from "./testing/platform.ts";

/** The exit code of `reprise-audit verify` on the archive of a platform. */
async function verify(dataDir: string, ...args: string[]): Promise<number | null> {
  const env = { PATH: process.env["PATH"], REPRISE_DATA_DIR: dataDir };
  const command = await bundleProgram("services/audit-log/src/cli/main.ts");
  const child = spawn(process.execPath, [command, "verify", ...args], { env, stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

const ENV = { REPRISE_ACK_WAIT_MS: "5000" };
const REQUEST = { model: "sim", input: "Tell me a story." };
const LONG = { ...REQUEST, options: { tokens: 300, tokens_per_second: 150, seed: 3 } };
const FAST = { ...LONG, options: { ...LONG.options, tokens_per_second: 0 } };

describe("the platform in one process", () => {
  test.each(["SIGTERM", "SIGKILL"] as const)(
    "after %s the same folder has its generations, its key, and continues what ran",
    async (signal) => {
      await using dir = await createTempDir("platform");
      await using first = await startPlatform(dir.path, ENV);
      const before = createClient(first);
      const done = before.generations.run({ ...REQUEST, options: { tokens: 5, tokens_per_second: 0 } });
      await done.done();
      const running = before.generations.run(LONG);
      for await (const { seq } of running) if (seq === 3) break;
      const seen = { text: running.text, cursor: running.cursor!, id: running.id! };
      first.kill(signal);
      expect(await first.exited).toMatchObject(signal === "SIGTERM" ? { code: 0, signal: null } : { signal });

      await using second = await startPlatform(dir.path, ENV);
      expect(second.apiKey).toBe(first.apiKey);
      const after = createClient(second);
      expect(await after.generations.get(done.id!)).toMatchObject({ status: "completed", text: done.text });
      const rest = await after.generations.stream(seen.id, { after: seen.cursor }).done();
      const undisturbed = await after.generations.run(FAST).done();
      expect(rest.status).toBe("completed");
      expect(seen.text + rest.text).toBe(undisturbed.text);
      await expect.poll(async () => (await after.generations.get(seen.id)).usage).toEqual(undisturbed.usage);
    },
  );

  test("its nats-server does not outlive it, even when it is killed", async () => {
    await using dir = await createTempDir("platform");
    await using platform = await startPlatform(dir.path);
    const pid = await readNatsPid(dir.path);
    expect(await readCommandLine(pid)).toContain(dir.path);
    platform.kill("SIGKILL");
    await platform.exited;
    await expect.poll(() => readCommandLine(pid)).toBe("");
  });

  test("health and metrics are on a port of their own, on this machine only, and not beside the API", async () => {
    await using dir = await createTempDir("platform");
    const env = { REPRISE_HOST: "0.0.0.0", REPRISE_OPS_PORT: "0", REPRISE_AUDIT: "off" };
    await using platform = await startPlatform(dir.path, env);
    const { ops } = await platform.logged("listening");
    expect(ops).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      const statuses = [ops, platform.url].map(async (url) => (await fetch(`${String(url)}${path}`)).status);
      expect(await Promise.all(statuses)).toEqual([200, 404]);
    }
  });

  test("its witness is a process of its own, and remembers an archive that is replaced with all its keys", async () => {
    await using dir = await createTempDir("platform");
    await using platform = await startPlatform(dir.path, { REPRISE_WITNESS: "on" });
    const { vkey } = await platform.logged("listening");
    expect((await platform.logged("witnessing"))["vkey"]).toMatch(/^witness\+/);
    await createClient(platform)
      .generations.run({ ...REQUEST, options: { tokens: 1 } })
      .done();
    const seen = () => readdir(join(dir.path, "witness", "seen")).catch(() => []);
    await expect.poll(seen).not.toEqual([]);
    expect((await platform.stop()).code).toBe(0);
    expect(await verify(dir.path)).toBe(0);

    const signer = parseNoteKey(await readFile(join(dir.path, "audit-keys", "signing.key"), "utf8"));
    expect(signer.vkey).toBe(vkey);
    const folder = join(dir.path, "audit");
    await rm(folder, { recursive: true });
    const writer = { name: "insider", signer, onError: () => {} };
    const forged = await openArchive({ store: createFileStore(folder), name: "reprise", writer });
    await forged.append(() => ({ tenants: [] }));
    forged.close();
    expect(await verify(dir.path, "--vkey", signer.vkey)).toBe(0);
    expect(await verify(dir.path)).toBe(2);
  });
});

test.each(["standalone", "delivery", "inference-worker"] as const)(
  "%s refuses an environment with names and values that it does not know, all of them at once",
  async (name) => {
    await using dir = await createTempDir("env");
    await using service = await startService(name, {
      REPRISE_DATA_DIR: dir.path,
      REPRISE_NATS_URLS: "nats://127.0.0.1:4222",
      REPRISE_SHARDS: "many",
    });
    const { code, stderr } = await service.exited;
    expect(code).toBe(1);
    expect(stderr).toContain("REPRISE_NATS_URLS is not known; did you mean REPRISE_NATS_URL?");
    expect(stderr).toContain('REPRISE_SHARDS must be a whole number from 1 to 1000, not "many"');
    expect(stderr).not.toMatch(/^\s+at /m);
  },
);

test.each(["standalone", "delivery"] as const)(
  "%s refuses tenants with a classifier that its file does not have",
  async (name) => {
    await using dir = await createTempDir("classifiers");
    const file = async (of: string, content: object) => {
      const path = join(dir.path, of);
      await writeFile(path, JSON.stringify(content));
      return path;
    };
    const omni = { kind: "moderations", base_url: "http://127.0.0.1:1/v1", model: "omni" };
    const policy = { moderation: { mode: "gate", rules: [{ classifier: "toxcity" }] } };
    const keys = [{ secret: "rk_acme_0123456789abcdef", roles: ["create"] }];
    await using service = await startService(name, {
      REPRISE_PORT: "0",
      ...(name === "standalone"
        ? { REPRISE_DATA_DIR: join(dir.path, "data") }
        : { REPRISE_NATS_URL: "nats://127.0.0.1:1" }),
      REPRISE_TENANTS_FILE: await file("tenants.json", { tenants: [{ id: "acme", keys, policy }] }),
      REPRISE_CLASSIFIERS_FILE: await file("classifiers.json", { classifiers: { toxicity: omni } }),
    });
    const { code, stderr } = await service.exited;
    expect(code).toBe(1);
    expect(stderr).toContain('rules.0.classifier: "toxcity" is no classifier');
  },
);
