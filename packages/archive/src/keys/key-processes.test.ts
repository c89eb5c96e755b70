import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createTempDir, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createFileStore } from "../store/file-store.ts";
import { createFaultyStore, randomFaults } from "../testing/faulty-store.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { openKeyring } from "./open-keyring.ts";

const PROGRAM = fileURLToPath(new URL("../testing/key-maker.ts", import.meta.url));
const masterKey = Buffer.alloc(32, 7);
const SUBJECTS = 20;

interface KeyMaker extends AsyncDisposable {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** The keys that the process has printed, in hex, by kid. */
  readonly told: Map<string, string>;
  /** Resolves after the process has printed this many keys. */
  until(count: number): Promise<void>;
}

function startKeyMaker(dir: string): KeyMaker {
  const child = spawn(process.execPath, [PROGRAM, dir, `${SUBJECTS}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const told = new Map<string, string>();
  const waiting: { count: number; resolve: () => void }[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [kid = "", key = ""] = line.split(" ");
    // The last line of one that was killed may be half a line.
    if (key.length === 64) told.set(kid, key);
    for (const { count, resolve } of waiting) if (told.size >= count) resolve();
  });
  return {
    child,
    told,
    until: (count) => new Promise((resolve) => waiting.push({ count, resolve })),
    async [Symbol.asyncDispose]() {
      const closed = child.exitCode === null && child.signalCode === null ? once(child, "close") : undefined;
      child.kill("SIGKILL");
      await closed;
    },
  };
}

test("two processes have the same keys for the same subjects, and what they told before they were killed is there", async () => {
  await using dir = await createTempDir("key-processes");
  await using first = startKeyMaker(dir.path);
  await using second = startKeyMaker(dir.path);
  await Promise.all([first.until(SUBJECTS + 30), second.until(SUBJECTS + 30)]);
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();

  const subjectKeys = ({ told }: KeyMaker) => [...told].slice(0, SUBJECTS);
  expect(subjectKeys(first)).toEqual(subjectKeys(second));
  const keyring = await openKeyring({ store: createFileStore(dir.path), masterKey });
  for (const [kid, key] of [...first.told, ...second.told]) {
    const opened = await keyring.open("acme", kid);
    expect(opened).toMatchObject({ kid, key: Buffer.from(key, "hex") });
  }
});

test("when any calls of the store fail, before or after they took effect, a key that was flushed opens and one that was destroyed does not", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    await withSeed(seed, async (random) => {
      const store = createMemoryStore();
      await openKeyring({ store, masterKey });
      const faulty = createFaultyStore(store, randomFaults(random.next, 0.3));
      const persist = async <T>(work: () => Promise<T>): Promise<T> => {
        for (let tries = 1; ; tries++) {
          try {
            return await work();
          } catch (error) {
            expect(error).toMatchObject({ code: "archive_unavailable" });
            expect(tries).toBeLessThan(100);
          }
        }
      };
      const rings = await Promise.all(
        [0, 1].map(() => persist(() => openKeyring({ store: faulty, masterKey }))),
      );
      const keys = new Map<string, Uint8Array>();
      const destroyed = new Set<string>();
      for (let i = 0; i < 60; i++) {
        const ring = random.pick(rings);
        const subject = random.chance(0.5) ? `subject ${random.integer(0, 3)}` : undefined;
        const owner = { tenant: "acme", generation: `gen_${i}`, subject };
        const { kid, key } = await persist(() => ring.keyFor(owner));
        expect(destroyed).not.toContain(kid);
        keys.set(kid, key);
        const others = rings.map((one) => persist(() => one.flush()));
        await Promise.all([...others, persist(() => ring.flush())]);
        if (random.chance(0.7)) continue;
        const doomed = random.pick([...keys.keys()]);
        await persist(() => random.pick(rings).destroy("acme", [doomed]));
        destroyed.add(doomed);
        // A running process believes for ten seconds what it has read: another is asked.
        rings.splice(
          0,
          2,
          ...(await Promise.all([0, 1].map(() => persist(() => openKeyring({ store: faulty, masterKey }))))),
        );
      }
      const fresh = await openKeyring({ store, masterKey });
      for (const [kid, key] of keys) {
        const expected = destroyed.has(kid) ? "destroyed" : expect.objectContaining({ kid, key });
        expect(await fresh.open("acme", kid)).toEqual(expected);
      }
    });
  }
});
