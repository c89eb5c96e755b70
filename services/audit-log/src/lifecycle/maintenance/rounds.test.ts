import { toUnixMs, plusMs } from "@reprise/protocol";
import { completed, createRef, delta, requested } from "@reprise/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { openFilledArchive } from "../../testing/filled-archive.ts";
import { keepErrors } from "../../testing/keep-errors.ts";
import { openLifecycleWorld } from "../../testing/worlds/lifecycle-world.ts";
import { liftHold, setHold } from "../hold.ts";
import { startMaintenance } from "./maintenance.ts";
import { deleteExpired } from "./retention.ts";

const { tenant } = createRef();
const START = toUnixMs("2026-11-01T10:00:00Z");
const DAY_MS = 86_400_000;
const who = { tenant, by: "operator", reason: "a test" };
const errors: unknown[] = [];
const onError = keepErrors(errors);
afterEach(() => expect(errors.splice(0)).toEqual([]));

test("of two processes one keeps the archive in order, and the other continues when that one has closed", async () => {
  await using world = await openLifecycleWorld();
  const start = async (holder: string) => {
    const tenants = vi.fn(() => []);
    const options = { ...(await world.openContext()), tenants, holder, onError };
    return { tenants, ...startMaintenance({ ...options, intervalMs: 20, thoroughMs: 0 }) };
  };
  const first = await start("first");
  await expect.poll(() => first.tenants).toHaveBeenCalled();
  const second = await start("second");
  await expect.poll(() => first.tenants.mock.calls.length).toBeGreaterThan(10);
  expect(second.tenants).not.toHaveBeenCalled();
  await first.close();
  await expect.poll(() => second.tenants).toHaveBeenCalled();
  await second.close();
});

test("a round is thorough when the last thorough one is so long ago, and else it is not", async () => {
  await using filled = await openFilledArchive();
  const refresh = vi.spyOn(filled.archive, "refresh");
  const begun = (thoroughMs: number) => {
    const tenants = vi.fn(() => []);
    const { archive, keyring } = filled;
    const options = { archive, keyring, store: archive.store, live: undefined, holder: "test" };
    return { tenants, ...startMaintenance({ ...options, tenants, onError, intervalMs: 1, thoroughMs }) };
  };
  const seldom = begun(3_600_000);
  await expect.poll(() => refresh.mock.calls.length).toBeGreaterThan(5);
  await seldom.close();
  expect(seldom.tenants).toHaveBeenCalledTimes(1);
  const always = begun(0);
  await expect.poll(() => always.tenants.mock.calls.length).toBeGreaterThan(5);
  await always.close();
});

test("a legal hold that takes the place of another one while something is deleted keeps what it is about", async () => {
  await using filled = await openFilledArchive();
  const { archive } = filled;
  const [ref, other] = [createRef(), createRef()];
  filled.log(ref, [requested(ref), delta("x"), completed()], START * 1_000);
  await filled.commit();
  const id = await setHold(filled, { ...who, generation: other.generation });
  const append = vi.spyOn(archive, "append").mockImplementationOnce(async (make) => {
    await liftHold(archive, { ...who, id });
    await setHold(filled, { ...who, generation: ref.generation });
    return archive.append(make);
  });
  const context = { ...filled, store: archive.store, live: undefined };
  const time = { maxDays: 1, nowMs: plusMs(START, 10 * DAY_MS) };
  expect(await deleteExpired(context, tenant, time)).toEqual([]);
  expect(append).toHaveBeenCalledTimes(4);
  expect(await Array.fromAsync(filled.reader.events(ref))).toHaveLength(3);
});
