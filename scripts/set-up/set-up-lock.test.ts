import { existsSync, mkdirSync, utimesSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { withSetUpLock } from "./set-up-lock.mjs";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "reprise-lock-"));
  vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

test("set-ups that start together work one after the other", async () => {
  const steps: string[] = [];
  const setUp = (name: string) =>
    withSetUpLock(root, async () => {
      steps.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`${name} ends`);
    });
  await Promise.all([setUp("a"), setUp("b")]);
  expect(steps).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("a set-up that fails lets the next one in", async () => {
  await expect(withSetUpLock(root, () => Promise.reject(new Error("no disk")))).rejects.toThrow("no disk");
  await expect(withSetUpLock(root, async () => {})).resolves.toBeUndefined();
});

test("the lock of a set-up that was killed is dropped", async () => {
  const lock = join(root, ".set-up-lock");
  mkdirSync(lock);
  const aMinuteAgo = Date.now() / 1_000 - 60;
  utimesSync(lock, aMinuteAgo, aMinuteAgo);
  await expect(withSetUpLock(root, async () => {})).resolves.toBeUndefined();
  expect(existsSync(lock)).toBe(false);
});
