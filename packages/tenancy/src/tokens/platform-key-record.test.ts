import { plusMs, toUnixMs } from "@reprise/protocol";
import { expect, test } from "vitest";
import {
  createPlatformKey,
  decodePlatformKeys,
  encodePlatformKeys,
  type PlatformKeyRecord,
  platformKeyToSignWith,
  viewPlatformKeys,
  withPlatformKey,
} from "./platform-key-record.ts";

const START_MS = toUnixMs("2026-11-24T12:00:00Z");
const at = (ms: number) => plusMs(START_MS, ms);
const time = (ms: number) => new Date(at(ms)).toISOString();
const make = (ms: number) => createPlatformKey(at(ms));
const kidsOf = (keys: readonly PlatformKeyRecord[]) => keys.map(({ kid }) => kid);
const signs = (keys: readonly PlatformKeyRecord[], ms: number) => platformKeyToSignWith(keys, at(ms))?.kid;
/** A minute until the next key signs, the hour of its last token, and the leeway of two clocks. */
const REPLACED_AFTER_MS = 60_000 + 3_600_000 + 20_000;

test("a key that is replaced counts until its last token has expired, and signs for a minute more", async () => {
  const [old, made] = [await make(0), await make(1_000)];
  const keys = withPlatformKey([old], { made, nowMs: at(1_000) });
  expect(viewPlatformKeys(keys)).toEqual([
    { kid: old.kid, created_at: time(0), expires_at: time(1_000 + REPLACED_AFTER_MS) },
    { kid: made.kid, created_at: time(1_000) },
  ]);
  expect([signs(keys, 1_000), signs(keys, 60_999), signs(keys, 61_000)]).toEqual([
    old.kid,
    old.kid,
    made.kid,
  ]);
});

test("an overlap ends all earlier keys together, none of them later than it would have ended, and the new one signs two seconds later", async () => {
  const [oldest, old, made] = [await make(0), await make(1_000), await make(3_500_000)];
  const two = withPlatformKey([oldest], { made: old, nowMs: at(1_000) });
  const keys = withPlatformKey(two, { made, nowMs: at(3_500_000), overlapMs: 600_000 });
  expect(viewPlatformKeys(keys).map(({ expires_at }) => expires_at)).toEqual([
    time(1_000 + REPLACED_AFTER_MS),
    time(4_100_000),
    undefined,
  ]);
  expect([signs(keys, 3_501_999), signs(keys, 3_502_000)]).toEqual([old.kid, made.kid]);
  const longer = withPlatformKey(keys, {
    made: await make(3_600_000),
    nowMs: at(3_600_000),
    overlapMs: 3_600_000,
  });
  expect(viewPlatformKeys(longer)[1]?.expires_at).toBe(time(4_100_000));
});

test("an overlap of nothing leaves the new key alone, which signs at once, in a record that versions without ends read", async () => {
  const [old, made] = [await make(0), await make(1_000)];
  const keys = withPlatformKey([old], { made, nowMs: at(1_000), overlapMs: 0 });
  expect([kidsOf(keys), signs(keys, 1_000)]).toEqual([[made.kid], made.kid]);
  expect(encodePlatformKeys(keys)).not.toContain("expires_at");
  expect(decodePlatformKeys(encodePlatformKeys(keys))).toEqual(keys);
});

test("of more than 16 keys whose tokens count none is added, and the error says when one ends", async () => {
  let keys: readonly PlatformKeyRecord[] = [await make(0)];
  for (let ms = 1_000; ms < 16_000; ms += 1_000)
    keys = withPlatformKey(keys, { made: await make(ms), nowMs: at(ms) });
  const made = await make(16_000);
  expect(keys).toHaveLength(16);
  expect(() => withPlatformKey(keys, { made, nowMs: at(16_000) })).toThrow(
    expect.objectContaining({
      code: "limit_exceeded",
      param: "overlap_seconds",
      retryAfterMs: 1_000 + REPLACED_AFTER_MS - 16_000,
    }),
  );
  expect(withPlatformKey(keys, { made, nowMs: at(16_000), overlapMs: 0 })).toEqual([made]);
  const later = 1_000 + REPLACED_AFTER_MS;
  expect(
    withPlatformKey(keys, { made: await make(later), nowMs: at(later) }).map(({ kid }) => kid),
  ).not.toContain(keys[0]!.kid);
});
