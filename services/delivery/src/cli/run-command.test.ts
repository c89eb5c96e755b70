import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { generateSigningKey, type PrivateKey } from "@reprise/tenancy";
import { describe, expect, test } from "vitest";
import { call, createGeneration, KEYS, openPlatform, REQUEST } from "../testing/platform.ts";
import { EXIT } from "./command.ts";
import { runCommand } from "./run-command.ts";

function sink() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      chunks.push(chunk.toString());
      callback();
    },
  });
  return { stream, text: () => chunks.join("") };
}

function shell(url: string, key: string | undefined) {
  return async (...args: string[]) => {
    const [out, err] = [sink(), sink()];
    const env = { REPRISE_URL: url, REPRISE_ADMIN_KEY: key };
    const code = await runCommand(args, { out: out.stream, err: err.stream, env });
    return { code, out: out.text(), err: err.text() };
  };
}

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "reprise-admin-"));
  return {
    path: (name: string) => join(folder, name),
    async write(name: string, content: unknown) {
      const file = join(folder, name);
      await writeFile(file, JSON.stringify(content), { mode: 0o600 });
      return file;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

describe("reprise-admin", () => {
  test("adds, lists, shows and removes tenants, and replaces a policy by what it printed", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    await using folder = await openFolder();
    const admin = shell(platform.node.url, KEYS.operator);
    const settings = await folder.write("settings.json", { models: ["sim"] });
    expect(await admin("tenant", "add", "gamma", "--settings", settings)).toMatchObject({
      code: EXIT.fine,
      out: "gamma\n",
    });
    expect((await admin("tenant", "list")).out).toBe("acme\t12 keys\nbeta\t3 keys\ngamma\t0 keys\n");
    expect(JSON.parse((await admin("tenant", "list", "--json")).out)).toMatchObject([
      { id: "acme" },
      { id: "beta" },
      { id: "gamma", keys: 0 },
    ]);
    const shown = await admin("tenant", "policy", "gamma");
    const etag = /^etag: (".+")\n$/.exec(shown.err)?.[1] ?? "";
    const next = { ...(JSON.parse(shown.out) as object), policy: { max_attempts: 2 } };
    const set = ["tenant", "policy", "gamma", "--set", await folder.write("next.json", next), "--if-match"];
    expect(await admin(...set, etag)).toMatchObject({ code: EXIT.fine });
    expect(await admin(...set, etag)).toMatchObject({
      code: EXIT.refused,
      err: expect.stringContaining("precondition_failed"),
    });
    expect(JSON.parse((await admin("tenant", "show", "gamma")).out)).toMatchObject({
      models: ["sim"],
      policy: { max_attempts: 2 },
    });
    // In a path these would name the tenant itself, and the calls would remove it.
    for (const words of [
      ["key", "revoke", "gamma", ".."],
      ["key", "revoke", "gamma", ""],
      ["signing-key", "remove", "gamma", ".."],
      ["tenant", "remove", "."],
    ])
      expect([words, await admin(...words)]).toMatchObject([
        words,
        { err: expect.stringContaining("is no id") },
      ]);
    expect((await admin("tenant", "show", "gamma")).code).toBe(EXIT.fine);
    expect((await admin("tenant", "remove", "gamma")).code).toBe(EXIT.fine);
    expect(await admin("tenant", "show", "gamma")).toMatchObject({
      code: EXIT.refused,
      out: "",
      err: expect.stringContaining("tenant_not_found"),
    });
  });

  test("creates, rotates, lists and revokes keys; a secret is printed by the command that made it alone", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    const admin = shell(platform.node.url, KEYS.acmeAdmin);
    const use = async (key: string) =>
      (await call(`${platform.node.url}/v1/generations`, { key, body: REQUEST })).status;
    const created = await admin("key", "create", "acme", "--name", "web", "--roles", "create,read");
    const [secret, id] = [created.out.trim(), created.err.split("\t")[0]!];
    expect(await use(secret)).toBe(201);
    const rotated = await admin("key", "rotate", "acme", id, "--overlap-seconds", "0", "--json");
    const fresh = JSON.parse(rotated.out) as { id: string; name: string; secret: string };
    expect(fresh.name).toBe("web-2");
    expect([await use(secret), await use(fresh.secret)]).toEqual([401, 201]);
    for (const list of [await admin("key", "list", "acme"), await admin("key", "list", "acme", "--json")]) {
      expect(list.out).toContain(fresh.id);
      expect(list.out).not.toContain(fresh.secret);
    }
    expect((await admin("key", "revoke", "acme", fresh.id)).code).toBe(EXIT.fine);
    expect(await use(fresh.secret)).toBe(401);
    expect((await admin("key", "revoke", "acme", fresh.id)).code).toBe(EXIT.refused);
  });

  test("mints a stream token that the platform takes, without asking it", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    await using folder = await openFolder();
    const admin = shell(platform.node.url, KEYS.acmeAdmin);
    const file = folder.path("signing.json");
    const add = ["signing-key", "add", "acme", "--kid", "k1", "--key-file", file];
    expect(await admin(...add, "--generate")).toMatchObject({ code: EXIT.fine, out: "k1\n" });
    const pair = JSON.parse(await readFile(file, "utf8")) as PrivateKey;
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const { path, generation } = await createGeneration(platform);
    const offline = shell("", undefined);
    const mint = ["token", "mint", "acme", "--signing-key-file", file, "--kid", "k1", "--generation"];
    const { code, out } = await offline(...mint, generation.id, "--scopes", "read");
    expect(code).toBe(EXIT.fine);
    const headers = { accept: "application/json" };
    expect((await call(`${platform.node.url}${path}`, { key: out.trim(), headers })).status).toBe(200);
    expect((await offline(...mint, generation.id, "--scopes", "admin")).code).toBe(EXIT.usage);
    const creator = [...mint.slice(0, -1), "--end-user", "ann", "--scopes", "create"];
    expect(await offline(...creator)).toMatchObject({
      code: EXIT.fine,
      err: expect.stringContaining("template"),
    });
    const template = await folder.write("template.json", { model: "sim", max_output_tokens: 5 });
    const bound = await offline(...creator, "--template", template);
    expect(bound).toMatchObject({ code: EXIT.fine, err: "" });
    const create = (body: object) =>
      call(`${platform.node.url}/v1/generations`, { key: bound.out.trim(), body });
    expect((await create({ input: "Hi" })).status).toBe(201);
    expect((await create({ input: "Hi", max_output_tokens: 6 })).status).toBe(403);
    const none = await folder.write("none.json", { max_output_tokens: 5 });
    expect(await offline(...creator, "--template", none)).toMatchObject({
      code: EXIT.usage,
      err: expect.stringContaining("template.model"),
    });
    const wrong = await folder.write("wrong.json", { ...pair, x: 1 });
    const refused = await offline(
      ...mint.map((word) => (word === file ? wrong : word)),
      generation.id,
      "--scopes",
      "read",
    );
    expect(refused.code).toBe(EXIT.usage);
    expect(refused.err).not.toContain(pair.d);
  });

  test("revokes stream tokens, and lists what is revoked", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    const admin = shell(platform.node.url, KEYS.acmeAdmin);
    const revoke = ["token", "revoke", "acme"];
    const { generation } = await createGeneration(platform);
    const ends = [
      await admin(...revoke, "--token-id", "t1"),
      await admin(...revoke, "--generation", generation.id),
      await admin(...revoke, "--end-user", "u-7", "--json"),
    ];
    expect(ends.map(({ code }) => code)).toEqual(ends.map(() => EXIT.fine));
    const { out } = await admin("token", "revocations", "acme");
    const named = out.split("\n").map((line) => line.split("\t").slice(0, 2));
    expect(named).toEqual([["token", "t1"], ["generation", generation.id], ["user", "u-7"], [""]]);
    expect((await admin(...revoke)).code).toBe(EXIT.usage);
    expect((await admin(...revoke, "--token-id", "t", "--end-user", "u")).code).toBe(EXIT.usage);
    expect((await admin(...revoke, "--token-id", "a b")).code).toBe(EXIT.refused);
  });

  test("rotates, lists and removes signing keys, and sends and prints no private part", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    await using folder = await openFolder();
    const admin = shell(platform.node.url, KEYS.acmeAdmin);
    const pair = await generateSigningKey();
    const file = await folder.write("one.json", pair);
    const ends = [
      await admin("signing-key", "add", "acme", "--kid", "k1", "--key-file", file, "--json"),
      await admin(
        "signing-key",
        "rotate",
        "acme",
        "k1",
        "--kid",
        "k2",
        "--key-file",
        file,
        "--overlap-seconds",
        "60",
      ),
      await admin("signing-key", "list", "acme"),
      await admin("signing-key", "remove", "acme", "k1"),
      await admin("signing-key", "list", "acme"),
    ];
    expect(ends.map(({ code }) => code)).toEqual(ends.map(() => EXIT.fine));
    expect(ends[2]!.out).toMatch(/^k1\texpires 2.*Z\nk2\texpires never\n$/);
    expect(ends[4]!.out).toBe("k2\texpires never\n");
    const again = await admin("signing-key", "add", "acme", "--kid", "k3", "--key-file", file, "--generate");
    expect(again).toMatchObject({ code: EXIT.usage, err: expect.stringContaining("is there already") });
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual(pair);
    const taken = await admin("signing-key", "add", "acme", "--kid", "reprise-1", "--key-file", file);
    expect(taken).toMatchObject({ code: EXIT.refused, err: expect.stringContaining("reprise-") });
    for (const { out, err } of [...ends, again, taken]) expect(out + err).not.toContain(pair.d);
    expect(platform.node.logged).not.toContain(pair.d);
  });

  test("says by its exit code that it was called wrongly, was refused, or got no answer, and never what the key is", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    const { url } = platform.node;
    const secret = `${KEYS.operator}\n`;
    const list = ["tenant", "list"];
    const ends = await Promise.all([
      shell(url, KEYS.operator)("tenant", "frobnicate"),
      shell(url, KEYS.operator)("tenant", "show"),
      shell(url, KEYS.operator)("key", "create", "acme", "--key", "k"),
      shell(url, undefined)(...list),
      shell(url, secret)(...list),
      shell(`http://user:${KEYS.operator}@127.0.0.1:1`, KEYS.operator)(...list),
      shell(url, KEYS.acme)(...list),
      shell("http://127.0.0.1:1", KEYS.operator)(...list),
      shell(url, KEYS.operator)("key", "create", "--help"),
    ]);
    const { usage, refused, unknown, fine } = EXIT;
    expect(ends.map(({ code }) => code)).toEqual([
      usage,
      usage,
      usage,
      usage,
      usage,
      usage,
      refused,
      unknown,
      fine,
    ]);
    for (const { out, err } of ends) {
      expect(out + err).not.toBe("");
      expect(out + err).not.toContain(KEYS.operator);
    }
  });
});
