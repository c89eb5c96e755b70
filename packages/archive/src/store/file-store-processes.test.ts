import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createFileStore } from "./file-store.ts";

const SCRIPT = fileURLToPath(new URL("../testing/object-creator.ts", import.meta.url));
const OBJECTS = 100;

async function startCreator(dir: string, text: string, first: number) {
  const child = spawn(process.execPath, [SCRIPT, dir, `${OBJECTS}`, `${first}`, text], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await lines.next();
  return {
    text,
    async run(): Promise<number[]> {
      const exited = once(child, "close");
      child.stdin.end();
      const { value } = await lines.next();
      expect(await exited).toEqual([0, null]);
      return JSON.parse(value as string) as number[];
    },
  };
}

/** @returns whether more than one of them has got any: one may be done before the others have begun */
async function createAtOnce(): Promise<boolean> {
  await using dir = await createTempDir("creators");
  const creators = await Promise.all(["a", "b", "c"].map((text, i) => startCreator(dir.path, text, 5 * i)));
  const created = await Promise.all(creators.map((creator) => creator.run()));
  expect(created.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: OBJECTS }, (_, i) => i));
  const store = createFileStore(dir.path);
  for (const [i, mine] of created.entries())
    for (const n of mine)
      expect(Buffer.from((await store.get(`log/${n}`))!).toString()).toBe(creators[i]!.text);
  return created.filter((mine) => mine.length > 0).length > 1;
}

test("of several processes that create the same objects at once each object is one's alone", async () => {
  for (let areRivals = false; !areRivals;) areRivals = await createAtOnce();
});
