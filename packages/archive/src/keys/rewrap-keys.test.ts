import { expect, test } from "vitest";
import { createFaultyStore, dyingAt } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { openKeyring } from "./open-keyring.ts";
import { rewrapKeys } from "./rewrap-keys.ts";

const [oldMasterKey, newMasterKey, foreignKey] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
];
const TENANTS = ["acme", "beta", "gamma"];

async function openStore() {
  const store = createMemoryStore();
  const keyring = await openKeyring({ store, masterKey: oldMasterKey });
  const keys = await Promise.all(TENANTS.map((tenant) => keyring.keyFor({ tenant, generation: "g" })));
  await keyring.flush();
  return { store, keys };
}

test("all keys are under the new master key, as they were, and the old one opens nothing", async () => {
  const { store, keys } = await openStore();
  expect(await rewrapKeys({ store, oldMasterKey, newMasterKey })).toBe(3);
  const keyring = await openKeyring({ store, masterKey: newMasterKey });
  const opened = await Promise.all(TENANTS.map((tenant, i) => keyring.open(tenant, keys[i]!.kid)));
  expect(opened).toEqual(keys);
  await expect(openKeyring({ store, masterKey: oldMasterKey })).rejects.toMatchObject({
    code: "config_invalid",
  });
  expect(await rewrapKeys({ store, oldMasterKey, newMasterKey })).toBe(0);
});

test("a rotation that ends anywhere is ended by the next one, with nothing lost", async () => {
  for (const when of ["before", "after"] as const) {
    for (let step = 0; step < 14; step++) {
      const { store, keys } = await openStore();
      const dying = createFaultyStore(store, dyingAt(step, when));
      await rewrapKeys({ store: dying, oldMasterKey, newMasterKey }).catch(() => undefined);
      await rewrapKeys({ store, oldMasterKey, newMasterKey });
      const keyring = await openKeyring({ store, masterKey: newMasterKey });
      expect(await Promise.all(TENANTS.map((tenant, i) => keyring.open(tenant, keys[i]!.kid)))).toEqual(keys);
    }
  }
});

test("a key that neither master key opens, while both know the others, was put there", async () => {
  const { store } = await openStore();
  const other = createMemoryStore();
  await (await openKeyring({ store: other, masterKey: foreignKey })).tag(TENANTS[0]!, "text");
  await store.put(`kek/${TENANTS[0]}`, (await other.get(`kek/${TENANTS[0]}`))!);
  const rotation = rewrapKeys({ store, oldMasterKey, newMasterKey });
  await expect(rotation).rejects.toMatchObject({ code: "archive_corrupt" });
});

test("with a master key that is not the store's nothing is changed", async () => {
  const { store } = await openStore();
  const before = await Promise.all(TENANTS.map((tenant) => store.get(`kek/${tenant}`)));
  const rotation = rewrapKeys({ store, oldMasterKey: foreignKey, newMasterKey });
  await expect(rotation).rejects.toMatchObject({ code: "config_invalid" });
  const empty = rewrapKeys({ store: createMemoryStore(), oldMasterKey, newMasterKey });
  await expect(empty).rejects.toMatchObject({ code: "config_invalid" });
  expect(await Promise.all(TENANTS.map((tenant) => store.get(`kek/${tenant}`)))).toEqual(before);
});
