import { describe, expect, test } from "vitest";
import { openTenants } from "../open-tenants.ts";
import { ACME, BETA, openWorld } from "../testing/world.ts";
import { parseTenantsFile } from "./tenants-file.ts";
import type { TenantsSource } from "./apply-tenants-file.ts";

const A = "rk_acme_0123456789abcdef";
const A2 = "rk_acme_fedcba9876543210";
const B = "rk_beta_0123456789abcdef";

const acme = (secrets: readonly string[], more: object = {}) => ({
  id: "acme",
  keys: secrets.map((secret, i) => ({ secret, roles: ["read"], name: `k${i}` })),
  ...more,
});
const beta = { id: "beta", keys: [{ secret: B, roles: ["read"] }] };
const fileOf = (...tenants: object[]) => parseTenantsFile(JSON.stringify({ tenants }), "tenants.json");
const UNCHANGED = { created: [], changed: [], removed: [], stayRemoved: [] };
const REVOCATION = {
  kind: "token",
  value: "t1",
  at: "2026-11-22T12:00:00.000Z",
  until: "2036-11-22T12:00:00.000Z",
} as const;

async function openNode(source: TenantsSource) {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openWorld());
  const onRefused = (_tenant: string, error: unknown) => expect.unreachable(String(error));
  const tenants = stack.use(await openTenants({ broker: world.broker, source, onRefused }));
  const owned = stack.move();
  const knows = (secret: string) => tenants.directory.authenticate(secret) !== undefined;
  return { tenants, knows, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("a file that seeds", () => {
  test("creates what the bucket never had, and changes nothing that it has or had", async () => {
    await using node = await openNode("seed");
    const { tenants, knows } = node;
    expect(await tenants.apply(fileOf(acme([A]), beta))).toEqual({ ...UNCHANGED, created: [ACME, BETA] });
    expect([knows(A), knows(B)]).toEqual([true, true]);
    await tenants.store.remove(BETA);
    await tenants.store.update(ACME, (present) => ({ ...present, models: ["sim"] }));
    expect(await tenants.apply(fileOf(acme([A2], { models: ["large"] }), beta))).toEqual({
      ...UNCHANGED,
      stayRemoved: [BETA],
    });
    expect([knows(A), knows(A2), knows(B)]).toEqual([true, false, false]);
    expect((await tenants.store.read(ACME))?.record.models).toEqual(["sim"]);
  });

  test("leaves tenants that it does not name, and can be changed over the API", async () => {
    await using node = await openNode("seed");
    const { tenants, knows } = node;
    await tenants.apply(fileOf(acme([A]), beta));
    expect(await tenants.apply(fileOf(beta))).toEqual(UNCHANGED);
    expect([knows(A), knows(B), tenants.isReadOnly]).toEqual([true, true, false]);
  });
});

describe("a file that owns", () => {
  test("makes the bucket equal to itself: creates, changes and removes, keys included", async () => {
    await using node = await openNode("file");
    const { tenants, knows } = node;
    expect(await tenants.apply(fileOf(acme([A]), beta))).toEqual({ ...UNCHANGED, created: [ACME, BETA] });
    expect(await tenants.apply(fileOf(acme([A]), beta))).toEqual(UNCHANGED);
    await tenants.store.update(ACME, (present) => ({ ...present, models: ["sim"] }));
    expect(await tenants.apply(fileOf(acme([A2])))).toEqual({
      ...UNCHANGED,
      changed: [ACME],
      removed: [BETA],
    });
    expect([knows(A), knows(A2), knows(B), tenants.isReadOnly]).toEqual([false, true, false, true]);
    expect((await tenants.store.read(ACME))?.record.models).toBeUndefined();
  });

  test("is refused whole when it has a tenant that was removed", async () => {
    await using node = await openNode("file");
    const { tenants, knows } = node;
    await tenants.apply(fileOf(acme([A]), beta));
    await tenants.apply(fileOf(acme([A])));
    const gamma = { id: "gamma", keys: [{ secret: A2, roles: ["read"] }] };
    await expect(tenants.apply(fileOf(gamma, beta))).rejects.toMatchObject({
      code: "tenant_removed",
      message: expect.stringContaining('"beta"'),
    });
    expect([knows(A), knows(B), knows(A2)]).toEqual([true, false, false]);
  });

  test("moves a key from a tenant that it removes to one that stays", async () => {
    await using node = await openNode("file");
    const { tenants } = node;
    await tenants.apply(fileOf(acme([A]), beta));
    await tenants.apply(fileOf(acme([A, B])));
    expect(tenants.directory.authenticate(B)?.tenant).toBe(ACME);
  });

  test("leaves revocations of tokens, and when a tenant and its keys were made", async () => {
    await using node = await openNode("file");
    const { tenants } = node;
    await tenants.apply(fileOf(acme([A])));
    await tenants.store.update(ACME, (present) => ({ ...present, revocations: [REVOCATION] }));
    const before = (await tenants.store.read(ACME))?.record;
    expect(await tenants.apply(fileOf(acme([A, A2])))).toEqual({ ...UNCHANGED, changed: [ACME] });
    const after = (await tenants.store.read(ACME))?.record;
    expect(after).toMatchObject({ created_at: before?.created_at, revocations: [REVOCATION] });
    expect(after?.keys.map(({ name }) => name)).toEqual(["k0", "k1"]);
    expect(after?.keys[0]?.created_at).toBe(before?.keys[0]?.created_at);
  });
});

test("keys of a file are added to tenants that lack them, and take none away", async () => {
  await using node = await openNode("seed");
  const { tenants, knows } = node;
  await tenants.apply(fileOf(acme([A])));
  await tenants.ensureKeys(
    fileOf({ id: "acme", keys: [{ secret: A2, roles: ["read"], name: "more" }] }, beta),
  );
  expect([knows(A), knows(A2), knows(B)]).toEqual([true, true, true]);
});

test("keys of a file do not bring back a tenant that was removed", async () => {
  await using node = await openNode("seed");
  const { tenants, knows } = node;
  await tenants.ensureKeys(fileOf(acme([A]), beta));
  await tenants.store.remove(BETA);
  await tenants.ensureKeys(fileOf(acme([A]), beta));
  expect([knows(A), knows(B)]).toEqual([true, false]);
  expect([...tenants.directory.removed()]).toEqual([BETA]);
});
