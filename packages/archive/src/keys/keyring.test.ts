import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createFileStore } from "../store/file-store.ts";
import { createFaultyStore, type StoreFault } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import type { DataKey } from "./keyring.ts";
import { parseMasterKey } from "./master-key.ts";
import { openKeyring } from "./open-keyring.ts";
import { TenantKeys } from "./tenant-keys.ts";

const masterKey = Buffer.alloc(32, 7);
const TENANT = "acme";
const owner = (generation: string, subject?: string) => ({ tenant: TENANT, generation, subject });

function asKey(key: DataKey | "destroyed" | "unknown"): DataKey {
  if (typeof key === "string") throw new Error(`the key is ${key}`);
  return key;
}

test("a key is had again by every process once it is flushed, and not before", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const other = await openKeyring({ store, masterKey });
  const key = await keyring.keyFor(owner("g1"));
  expect(await keyring.keyFor(owner("g1"))).toBe(key);
  expect(await keyring.open(TENANT, key.kid)).toEqual(key);
  expect(await other.open(TENANT, key.kid)).toBe("unknown");
  await keyring.flush();
  expect(await other.open(TENANT, key.kid)).toEqual(key);
  expect(await other.open("beta", key.kid)).toBe("unknown");
});

test("a key has memory of its own, whether it was made, wrapped for a tenant or unwrapped: none keeps a shared pool alive", async () => {
  const store = createMemoryStore();
  const maker = await openKeyring({ store, masterKey });
  const owners = [owner("g1"), owner("g2", "ann")];
  const made = await Promise.all(owners.map((each) => maker.keyFor(each)));
  await maker.flush();
  const reader = await openKeyring({ store, masterKey });
  const opened = await Promise.all(made.map(async ({ kid }) => asKey(await reader.open(TENANT, kid))));
  const { wrapping, tagging } = await new TenantKeys(store, masterKey).get(TENANT);
  const keys = [...made, ...opened].map(({ key }) => key);
  const memory = [...keys, wrapping, tagging, parseMasterKey("07".repeat(32))];
  expect(memory.map(({ buffer }) => buffer.byteLength)).toEqual(memory.map(() => 32));
});

test("generations of one subject have one key, from any process; those of another have another", async () => {
  await using dir = await createTempDir("keyring");
  const rings = await Promise.all(
    Array.from({ length: 4 }, () => openKeyring({ store: createFileStore(dir.path), masterKey })),
  );
  for (const subject of ["ann", "bob", "cid"]) {
    const keys = await Promise.all(rings.map((ring, i) => ring.keyFor(owner(`g${i}`, subject))));
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1);
    expect(new Set(keys.map(({ key }) => Buffer.from(key).toString("hex"))).size).toBe(1);
    expect(await rings[0]!.kidsOf(TENANT, subject)).toEqual([keys[0]!.kid]);
  }
  const [ann, bob] = await Promise.all(["ann", "bob"].map((name) => rings[0]!.keyFor(owner("g", name))));
  expect(ann!.key).not.toEqual(bob!.key);
});

test("of many processes that meet a tenant first, all have one key of the tenant: its tags are the same for all, and for good", async () => {
  await using dir = await createTempDir("keyring");
  const open = () => openKeyring({ store: createFileStore(dir.path), masterKey });
  const rings = await Promise.all(Array.from({ length: 8 }, open));
  const tags = await Promise.all(rings.map((ring) => ring.tag(TENANT, "subject:ann")));
  expect(new Set(tags)).toEqual(new Set([await (await open()).tag(TENANT, "subject:ann")]));
  expect(tags[0]).toMatch(/^[0-9a-f]{16}$/);
  expect(await rings[0]!.tag("beta", "subject:ann")).not.toBe(tags[0]);
});

test("keys that are asked for while others are flushed are in the next flush, and none is lost", async () => {
  let release = () => {};
  const store = createMemoryStore();
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = {
    ...store,
    create: (...call: Parameters<typeof store.create>) => held.then(() => store.create(...call)),
  };
  await openKeyring({ store, masterKey });
  await (await openKeyring({ store, masterKey })).tag(TENANT, "");
  const keyring = await openKeyring({ store: slow, masterKey });
  const first = await keyring.keyFor(owner("g1"));
  const flushes = [keyring.flush()];
  const second = await keyring.keyFor(owner("g2"));
  flushes.push(keyring.flush(), keyring.flush());
  expect(await keyring.keyFor(owner("g1"))).toBe(first);
  release();
  await Promise.all(flushes);
  const fresh = await openKeyring({ store, masterKey });
  expect(await fresh.open(TENANT, first.kid)).toEqual(first);
  expect(await fresh.open(TENANT, second.kid)).toEqual(second);
});

test.for(["before", "after"] as const)(
  "a flush that fails %s the store has done it is made good by the next",
  async (when) => {
    const store = createMemoryStore();
    let fault: StoreFault | undefined;
    const keyring = await openKeyring({ store: createFaultyStore(store, () => fault), masterKey });
    const first = await keyring.keyFor(owner("g1"));
    fault = when;
    await expect(keyring.flush()).rejects.toMatchObject({ code: "archive_unavailable" });
    fault = undefined;
    const second = await keyring.keyFor(owner("g2"));
    await keyring.flush();
    const fresh = await openKeyring({ store, masterKey });
    expect(await fresh.open(TENANT, first.kid)).toEqual(first);
    expect(await fresh.open(TENANT, second.kid)).toEqual(second);
  },
);

test("another master key opens nothing, and says so without naming either", async () => {
  const store = createMemoryStore();
  await openKeyring({ store, masterKey });
  const wrong = openKeyring({ store, masterKey: Buffer.alloc(32, 8) });
  await expect(wrong).rejects.toMatchObject({ code: "config_invalid" });
});

test("a wrapped key of another keyring among the store's is tampering, and no wrong master key", async () => {
  const [store, other] = [createMemoryStore(), createMemoryStore()];
  const foreign = await openKeyring({ store: other, masterKey: Buffer.alloc(32, 8) });
  const keyring = await openKeyring({ store, masterKey });
  for (const one of [keyring, foreign]) await one.tag(TENANT, "makes the tenant's key");
  const own = (await store.get(`kek/${TENANT}`))!;

  await store.put(`kek/${TENANT}`, (await other.get(`kek/${TENANT}`))!);
  const tampered = await openKeyring({ store, masterKey });
  await expect(tampered.tag(TENANT, "text")).rejects.toMatchObject({ code: "archive_corrupt" });
  await store.put(`kek/${TENANT}`, own);
  await store.put("check", (await other.get("check"))!);
  await expect(openKeyring({ store, masterKey })).rejects.toMatchObject({ code: "archive_corrupt" });
});

test("no object holds a key in clear, nor the name of a subject or a generation", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const keys = await Promise.all([
    keyring.keyFor(owner("gen_0_secret")),
    keyring.keyFor(owner("gen_1_secret", "ann@example.com")),
  ]);
  await keyring.flush();
  await keyring.destroy(TENANT, [keys[0].kid]);
  const texts = [...keys.map(({ key }) => Buffer.from(key)), Buffer.from(masterKey)].flatMap((key) =>
    (["latin1", "hex", "base64", "base64url"] as const).map((encoding) => key.toString(encoding)),
  );
  const all: string[] = [];
  for await (const { key } of store.list(""))
    all.push(key, Buffer.from((await store.get(key))!).toString("latin1"));
  expect(all.length).toBeGreaterThan(8);
  for (const text of [...texts, "ann@example.com", "secret"]) expect(all.join("\n")).not.toContain(text);
});

test("objects that are not what was written are corrupt, and are not quoted", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const [mine, other] = [await keyring.keyFor(owner("g1")), await keyring.keyFor(owner("g2"))];
  const subjects = await keyring.keyFor(owner("g3", "ann"));
  await keyring.flush();
  const places = (await Array.fromAsync(store.list("tenant/acme/"))).map(({ key }) => key);
  const page = places.find((key) => key.includes("/page/"))!;
  const { keys } = JSON.parse(Buffer.from((await store.get(page))!).toString()) as { keys: unknown[] };
  const openFresh = async (kid: string) => (await openKeyring({ store, masterKey })).open(TENANT, kid);
  const forged = [
    "secret",
    `{"keys":"secret"}`,
    `{"moved_to":0}`,
    `{"moved_to":7}`,
    JSON.stringify({ keys: keys.toReversed() }),
  ];
  for (const text of forged) {
    await store.put(page, Buffer.from(text));
    const error = await openFresh(mine.kid).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "archive_corrupt", message: expect.not.stringContaining("secret") });
  }
  await store.put(
    places.find((key) => key.includes("/subject/"))!,
    Buffer.from("{}"),
  );
  await expect(openFresh(subjects.kid)).rejects.toMatchObject({ code: "archive_corrupt" });
  await store.put("kek/acme", Buffer.from("{}"));
  await expect(openFresh(other.kid)).rejects.toMatchObject({ code: "archive_corrupt" });
  await store.put("check", Buffer.from("[]"));
  await expect(openFresh(other.kid)).rejects.toMatchObject({ code: "archive_corrupt" });
});

test("what is no name of a key is unknown, and destroying it touches nothing", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  await keyring.tag(TENANT, "");
  const before = await Array.fromAsync(store.list(""));
  const kids = [
    "",
    "x",
    "s.../../check.0",
    "p.../../../check.0",
    "s.0123456789abcdef.-1",
    "p.AAAAAAAAAAAA.1e3",
  ];
  for (const kid of kids) expect(await keyring.open(TENANT, kid)).toBe("unknown");
  await keyring.destroy(TENANT, kids);
  expect(await Array.fromAsync(store.list(""))).toEqual(before);
});

test("a key that was found is kept in memory for 10 s at most, counted from when the store was asked", async () => {
  const store = createMemoryStore();
  let nowMs = 0;
  const writer = await openKeyring({ store, masterKey });
  const keys = [
    await writer.keyFor(owner("g1")),
    await writer.keyFor(owner("g2")),
    await writer.keyFor(owner("g3", "ann")),
  ];
  await writer.flush();
  const reader = await openKeyring({ store, masterKey, now: () => nowMs });
  const [first, second, third] = keys.map(({ kid }) => kid) as [string, string, string];
  expect(asKey(await reader.open(TENANT, first)).kid).toBe(first);
  expect(asKey(await reader.open(TENANT, third)).kid).toBe(third);
  await writer.destroy(TENANT, [first, second, third]);
  nowMs = 9_999;
  // From the page that was read for the first one.
  expect(asKey(await reader.open(TENANT, second)).kid).toBe(second);
  nowMs = 10_000;
  for (const kid of [first, second, third]) expect(await reader.open(TENANT, kid)).toBe("destroyed");
});
