import { readPresence } from "@reprise/jobs";
import { parseTenantId } from "@reprise/protocol";
import { hashKey, type TenantRecord } from "@reprise/tenancy";
import { describe, expect, test, vi } from "vitest";
import { call, createGeneration, KEYS, openPlatform, type Platform, REQUEST } from "../testing/platform.ts";

/** The longest that there is: an answer that comes before a poll of the same wait that was sent earlier has not waited for its end. */
const WAIT = "wait=30000";
const WATCHED = { ...REQUEST, policy: { on_disconnect: { cancel_after: 60_000 } } };
type KeyRecord = TenantRecord["keys"][number];
const ACME = parseTenantId("acme");

const poll = (url: string, path: string, key: string) =>
  call(`${url}${path}/events?${WAIT}`, { key, headers: { accept: "application/json" } });

/** A generation with a poll that keeps waiting, on a node of its own. */
async function openWaiting(platform: Platform) {
  const other = await platform.addNode({ liveTenants: true });
  const { path, ref } = await createGeneration(platform, { body: WATCHED });
  const waiting = async (readers: number) =>
    expect
      .poll(async () => (await readPresence(platform.broker.main, ref)).records)
      .toMatchObject(Array.from({ length: readers }, () => ({ readers: 1 })));
  const kept = poll(other.url, path, KEYS.acme);
  // It may still wait when the test is over, and is cut off with its node then.
  kept.catch(() => {});
  await waiting(1);
  return { path, kept, waiting };
}

const REFUSED = { status: 401, json: { error: { code: "unauthenticated" } } };

describe("a long-poll is answered 401 before its wait is over", () => {
  test.each([
    ["whose key is revoked", () => []],
    ["whose key loses its role", (key: KeyRecord): KeyRecord[] => [{ ...key, roles: ["cancel"] }]],
  ])("%s, and one with another key is not", async (_, change) => {
    await using platform = await openPlatform({ liveTenants: true });
    const { path, kept, waiting } = await openWaiting(platform);
    const refused = poll(platform.node.url, path, KEYS.acmeReader);
    await waiting(2);
    await platform.node.tenants!.store.update(ACME, (present) => ({
      ...present,
      keys: present.keys.flatMap((key) => (key.sha256 === hashKey(KEYS.acmeReader) ? change(key) : [key])),
    }));
    expect(await Promise.race([kept, refused])).toMatchObject(REFUSED);
  });

  test("whose key is revoked after the last check and before the poll is registered", async () => {
    await using platform = await openPlatform({ liveTenants: true });
    const { path, kept } = await openWaiting(platform);
    const { directory } = platform.node.tenants!;
    const renew = directory.renew.bind(directory);
    // The change is told while the poll is not registered yet, so the registry hears of none afterwards.
    vi.spyOn(directory, "renew").mockImplementationOnce(renew).mockReturnValue(undefined);
    expect(await Promise.race([kept, poll(platform.node.url, path, KEYS.acmeReader)])).toMatchObject(REFUSED);
  });
});
