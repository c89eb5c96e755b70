import { parseTenantId } from "@reprise/protocol";
import { hashKey, type Role } from "@reprise/tenancy";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test, vi } from "vitest";
import { type AuditedPlatform, openAuditedPlatform } from "../testing/audited-platform.ts";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  started,
} from "../testing/platform.ts";

const ACME = parseTenantId("acme");
/** More than two pages of the archive. */
const LONG = Array.from({ length: 20 }, () => delta("x".repeat(40_000)));

/** Gives a key other roles, as its node has heard when this resolves. */
async function giveRoles({ node }: AuditedPlatform, secret: string, roles: readonly Role[]): Promise<void> {
  const { store, directory } = node.tenants!;
  await store.update(ACME, (present) => ({
    ...present,
    keys: present.keys.map((key) => (key.sha256 === hashKey(secret) ? { ...key, roles: [...roles] } : key)),
  }));
  await directory.sync();
}

/** Holds back what the archive answers, from its next call on. */
function holdArchive({ audit }: AuditedPlatform) {
  const [called, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  audit.intercept = () => {
    called.resolve();
    return released.promise;
  };
  return { called: called.promise, release: released.resolve };
}

const UNAUTHENTICATED = { event: "error", data: expect.stringContaining('"code":"unauthenticated"') };

describe("an attached stream ends with the role that it was opened for", () => {
  test("the original text, of a key that loses audit and keeps read", async () => {
    await using platform = await openAuditedPlatform({ liveTenants: true });
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), ...LONG, completed());
    await platform.audit.archive(ref);
    const opened = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const { calls } = platform.audit;
    // The first page is sent, the second one is on its way when the role goes.
    platform.audit.intercept = () => {
      if (calls.length < 2) return;
      opened.resolve();
      return released.promise;
    };
    await using reader = await openSseReader(`${platform.node.url}${path}/events?original=true`, {
      headers: authorization(KEYS.acmeReadingAuditor),
    });
    await opened.promise;
    await giveRoles(platform, KEYS.acmeReadingAuditor, ["read"]);
    released.resolve();
    expect(await reader.ended).toBe("broken");
    expect(reader.frames.at(-1)).toMatchObject(UNAUTHENTICATED);
  });

  test.each([
    ["of a key that loses read and keeps audit", KEYS.acmeReadingAuditor, ["audit"]],
    ["of a key that is given read for audit", KEYS.acmeAuditor, ["read"]],
  ] as const)("the live log, %s", async (_, key, roles) => {
    await using platform = await openAuditedPlatform({ liveTenants: true });
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(key),
    });
    await reader.nextFrame();
    await giveRoles(platform, key, roles);
    await append(worker, delta("a"), completed());
    expect(await reader.ended).toBe("broken");
    expect(reader.frames.at(-1)).toMatchObject(UNAUTHENTICATED);
  });
});

test("an attached stream continues when its key loses another role", async () => {
  await using platform = await openAuditedPlatform({ liveTenants: true });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  const key = KEYS.acmeReadingAuditor;
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
    headers: authorization(key),
  });
  await reader.nextFrame();
  await giveRoles(platform, key, ["read"]);
  await append(worker, completed());
  expect(await reader.ended).toBe("clean");
});

test.each([
  ["a page of the original text", (path: string) => `${path}/events?original=true`],
  ["a generation's original text", (path: string) => `${path}?original=true`],
  ["a search", () => "/v1/audit/generations"],
  ["a generation's record", (path: string) => path.replace("/v1/", "/v1/audit/")],
])("%s is not answered once the key has lost audit while the archive was asked", async (_, toPath) => {
  await using platform = await openAuditedPlatform({ liveTenants: true });
  const { path, ref, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"), completed());
  await platform.audit.archive(ref);
  const { called, release } = holdArchive(platform);
  const key = KEYS.acmeReadingAuditor;
  const answer = call(platform.node.url + toPath(path), { key, headers: { accept: "application/json" } });
  await called;
  await giveRoles(platform, key, ["read"]);
  release();
  expect(await answer).toMatchObject({ status: 401, json: { error: { code: "unauthenticated" } } });
});

/** A platform where a key is revoked while its next call is made: it is asked for first when the call is admitted. */
async function openRevoking() {
  const platform = await openAuditedPlatform({ liveTenants: true });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started(), delta("a"));
  const { directory } = platform.node.tenants!;
  const renew = directory.renew.bind(directory);
  const revoke = () => vi.spyOn(directory, "renew").mockImplementationOnce(renew).mockReturnValue(undefined);
  return {
    path,
    url: platform.node.url,
    revoke,
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

test.each([
  ["a generation", KEYS.acme, (path: string) => path],
  ["a generation, for an auditor", KEYS.acmeAuditor, (path: string) => path],
  ["the list of reviews", KEYS.acmeReviewer, () => "/v1/reviews"],
  ["what moderation has withdrawn", KEYS.acmeReviewer, (path: string) => `${path}/moderation`],
])("%s is not answered once its key is revoked while the log was read", async (_, key, toPath) => {
  await using revoking = await openRevoking();
  revoking.revoke();
  expect(await call(revoking.url + toPath(revoking.path), { key })).toMatchObject({
    status: 401,
    json: { error: { code: "unauthenticated" } },
  });
});

test("a call that has been made when its key is revoked is answered without the generation's text", async () => {
  await using revoking = await openRevoking();
  revoking.revoke();
  const answer = await call(`${revoking.url}${revoking.path}/cancel`, { method: "POST", key: KEYS.acme });
  expect(answer).toMatchObject({ status: 200, json: { status: "cancelled" } });
  expect(answer.json).not.toHaveProperty("text");
});
