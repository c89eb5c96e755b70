import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { PacedReading } from "./paced-reading.ts";

/** Bodies that are there as a whole, and what is read of them. */
function openBodies(chunks: Readonly<Record<string, number>>) {
  const read: string[] = [];
  const resting: (() => void)[] = [];
  const pace = new PacedReading((next) => void resting.push(next));
  const bodies = Object.entries(chunks).map(([name, count]) => {
    const body = Readable.from(Array.from({ length: count }, () => name));
    pace.add(body as IncomingMessage);
    body.on("data", (chunk: string) => read.push(chunk));
    body.resume();
    return body;
  });
  return { read, resting, bodies };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

test("of each body a chunk is read at once, and then one of all of them after each rest, in turn", async () => {
  const { read, resting } = openBodies({ a: 4, b: 3 });
  await turns(10);
  // The first has read its second chunk, which began a rest.
  expect(read).toEqual(["a", "a", "b"]);
  for (let rests = 0; rests < 3; rests++) {
    resting.shift()!();
    await turns(10);
  }
  expect(read).toEqual(["a", "a", "b", "a", "b", "a"]);
});

test("a body that goes while it waits holds up none of the others", async () => {
  const { read, resting, bodies } = openBodies({ a: 9, b: 2, c: 2 });
  await turns(10);
  expect(read).toEqual(["a", "a", "b", "c"]);
  bodies[0]!.destroy();
  await turns(10);
  resting.shift()!();
  await turns(10);
  expect(read).toEqual(["a", "a", "b", "c", "b"]);
});
