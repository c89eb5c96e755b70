import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { BlobStore } from "../store/blob-store.ts";
import { createFaultyStore, dyingAt } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import type { Keyring } from "./keyring.ts";
import { openKeyring } from "./open-keyring.ts";

const masterKey = Buffer.alloc(32, 7);
const TENANT = "acme";
const SEED = 5;

/** A store with one page of keys, and what each is called. */
async function openPage(keys: number) {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const kids: string[] = [];
  for (let i = 0; i < keys; i++) {
    const { kid } = await keyring.keyFor({ tenant: TENANT, generation: `g${i}` });
    kids.push(kid);
  }
  await keyring.flush();
  const wrapped = await wrappedKeys(store);
  return { store, keyring, kids, wrapped };
}

/** All wrapped keys of generations that lie in a store, in the order of their pages. */
async function wrappedKeys(store: BlobStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list(`tenant/${TENANT}/page/`)) {
    const text = Buffer.from((await store.get(key))!).toString();
    found.push(...[...text.matchAll(/"wrapped":"([^"]+)"/g)].map(([, wrapped]) => wrapped!));
  }
  return found;
}

async function statesOf(keyring: Keyring, kids: readonly string[]) {
  const opened = await Promise.all(kids.map((kid) => keyring.open(TENANT, kid)));
  return opened.map((key) => (typeof key === "string" ? key : "there"));
}

/** Every call of the store happens when the scheduler says so, in one moment. */
function schedule(store: BlobStore, scheduler: fc.Scheduler): BlobStore {
  return {
    get: scheduler.scheduleFunction((key, range) => store.get(key, range)),
    put: scheduler.scheduleFunction((key, bytes) => store.put(key, bytes)),
    create: scheduler.scheduleFunction((key, bytes) => store.create(key, bytes)),
    delete: scheduler.scheduleFunction((key) => store.delete(key)),
    list: (prefix) => store.list(prefix),
  };
}

test(`processes that destroy keys of one page in any interleaving bring no key back: seed ${SEED}`, async () => {
  const shares = fc.array(fc.uniqueArray(fc.nat(4), { minLength: 1 }), { minLength: 2, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), shares, async (scheduler, shared) => {
      const { store, kids, wrapped } = await openPage(5);
      const work = shared.map(async (indices) => {
        const keyring = await openKeyring({ store: schedule(store, scheduler), masterKey });
        await keyring.destroy(
          TENANT,
          indices.map((i) => kids[i]!),
        );
      });
      await scheduler.waitFor(Promise.all(work));
      const gone = new Set(shared.flat());
      expect(await wrappedKeys(store)).toEqual(wrapped.filter((_, i) => !gone.has(i)));
      const states = await statesOf(await openKeyring({ store, masterKey }), kids);
      expect(states).toEqual(kids.map((_, i) => (gone.has(i) ? "destroyed" : "there")));
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test.for(["before", "after"] as const)(
  "a process that dies %s any step of destroying leaves every other key, and a repeated call completes it",
  async (when) => {
    const steps: boolean[] = [];
    while (!steps.at(-1)) {
      const { store, keyring, kids, wrapped } = await openPage(4);
      await keyring.destroy(TENANT, [kids[3]!]);
      let isOpen = false;
      const plan = dyingAt(steps.length, when);
      let n = 0;
      const mortal = createFaultyStore(store, (call) => (isOpen ? plan({ ...call, n: n++ }) : undefined));
      const dying = await openKeyring({ store: mortal, masterKey });
      isOpen = true;
      const destroying = dying.destroy(TENANT, [kids[0]!]);
      steps.push(
        await destroying.then(
          () => true,
          () => false,
        ),
      );
      const next = await openKeyring({ store, masterKey });
      expect((await statesOf(next, kids)).slice(1)).toEqual(["there", "there", "destroyed"]);
      await Promise.all([next.destroy(TENANT, [kids[1]!]), next.destroy(TENANT, [kids[0]!])]);
      expect(await wrappedKeys(store)).toEqual([wrapped[2]]);
      expect(await statesOf(next, kids)).toEqual(["destroyed", "destroyed", "there", "destroyed"]);
    }
    expect(steps.length).toBeGreaterThan(3);
  },
);

test("keys that are destroyed one after another leave a page that is found in two reads", async () => {
  const { store, keyring, kids } = await openPage(30);
  for (const kid of kids.slice(1)) await keyring.destroy(TENANT, [kid]);
  const reads: string[] = [];
  const counting = createFaultyStore(store, ({ method, key }) => {
    if (method === "get" && key.includes("/page/")) reads.push(key);
    return undefined;
  });
  const reader = await openKeyring({ store: counting, masterKey });
  expect(await statesOf(reader, kids)).toEqual(["there", ...kids.slice(1).map(() => "destroyed")]);
  expect(reads).toHaveLength(2);
});

test("a subject whose key was destroyed gets another one, and only that is named as theirs", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const owner = { tenant: TENANT, generation: "g", subject: "ann" };
  const first = await keyring.keyFor(owner);
  await keyring.destroy(TENANT, [first.kid]);
  expect(await keyring.open(TENANT, first.kid)).toBe("destroyed");
  const second = await keyring.keyFor(owner);
  expect(second.key).not.toEqual(first.key);
  expect(await keyring.kidsOf(TENANT, "ann")).toEqual([second.kid]);
  const fresh = await openKeyring({ store, masterKey });
  expect(await fresh.open(TENANT, first.kid)).toBe("destroyed");
  expect(await fresh.keyFor(owner)).toEqual(second);
});

test("what is not stored yet is destroyed as well", async () => {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey });
  const { kid } = await keyring.keyFor({ tenant: TENANT, generation: "g" });
  await keyring.destroy(TENANT, [kid]);
  expect(await keyring.open(TENANT, kid)).toBe("destroyed");
  expect(await wrappedKeys(store)).toEqual([]);
  const again = await keyring.keyFor({ tenant: TENANT, generation: "g" });
  expect(again.kid).not.toBe(kid);
});

test("a page that was being read while one of its keys was destroyed is read again", async () => {
  const { store, kids } = await openPage(1);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let isHeld = true;
  const slow: BlobStore = {
    ...store,
    async get(key, range) {
      const bytes = await store.get(key, range);
      const waits = isHeld && key.includes("/page/");
      isHeld &&= !waits;
      if (waits) await held;
      return bytes;
    },
  };
  const keyring = await openKeyring({ store: slow, masterKey });
  const reading = keyring.open(TENANT, kids[0]!);
  await expect.poll(() => isHeld).toBe(false);
  await keyring.destroy(TENANT, kids);
  release();
  expect(await reading).toBe("destroyed");
  expect(await keyring.open(TENANT, kids[0]!)).toBe("destroyed");
});
