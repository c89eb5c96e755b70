import { readPresence } from "@reprise/jobs";
import { encodeOpsRecord, type GenerationRef, LIMITS, opsSubject } from "@reprise/protocol";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  type Platform,
  REQUEST,
  started,
} from "../../testing/platform.ts";

const headers = authorization();
const PACED = { ...REQUEST, policy: { pace: { max_lead_tokens: 100 } } };
const WATCHED = { ...REQUEST, policy: { on_disconnect: { cancel_after: 60_000 } } };

async function announced({ broker }: Platform, ref: GenerationRef) {
  const { records } = await readPresence(broker.main, ref);
  return records.map(({ readers, seq }) => ({ readers, seq })).toSorted((a, b) => a.seq - b.seq);
}

test("each node announces its furthest reader's position for a paced generation", async () => {
  await using platform = await openPlatform();
  const other = await platform.addNode();
  const { ref, path, worker } = await createGeneration(platform, { body: PACED });
  await append(worker, started(), delta("a"));
  await using here = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  await using there = await openSseReader(`${other.url}${path}/events`, { headers });
  await expect
    .poll(() => announced(platform, ref))
    .toEqual([
      { readers: 1, seq: 2 },
      { readers: 1, seq: 2 },
    ]);
  there.cut();
  const left = async () => (await announced(platform, ref)).filter(({ readers }) => readers === 0);
  await expect.poll(left).toHaveLength(1);
  await append(worker, delta("b"), delta("c"));
  await expect
    .poll(() => announced(platform, ref))
    .toEqual([
      { readers: 0, seq: 2 },
      { readers: 1, seq: 4 },
    ]);
  await append(worker, completed());
  expect(await here.ended).toBe("clean");
});

test("a reader that does not read has not taken what waits for it", async () => {
  await using platform = await openPlatform();
  const { ref, path, worker } = await createGeneration(platform, { body: PACED });
  await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  reader.pause();
  const events = 240;
  await append(worker, started(), ...Array.from({ length: events }, () => delta("x".repeat(30_000))));
  await expect.poll(async () => (await announced(platform, ref))[0]?.seq).toBeGreaterThan(1);
  const [{ seq } = { seq: 0 }] = await announced(platform, ref);
  expect(seq).toBeLessThan(events);
  reader.resume();
  await expect.poll(async () => (await announced(platform, ref))[0]?.seq).toBe(events + 1);
});

test("a client that reads page by page counts as a reader while it waits, and as gone afterwards", async () => {
  await using platform = await openPlatform();
  const { ref, path, worker } = await createGeneration(platform, { body: WATCHED });
  const accept = { accept: "application/json" };
  const waiting = call(`${platform.node.url}${path}/events?wait=${LIMITS.pageWaitMs}`, { headers: accept });
  await expect.poll(() => announced(platform, ref)).toEqual([{ readers: 1, seq: 0 }]);
  await append(worker, started());
  await waiting;
  await expect.poll(() => announced(platform, ref)).toEqual([{ readers: 0, seq: 0 }]);
});

test("announces neither readers of a generation whose policy does not ask, nor the leaving of those that a drain disconnects", async () => {
  await using platform = await openPlatform();
  const { ref, path, worker } = await createGeneration(platform);
  const { ref: watched, path: watchedPath } = await createGeneration(platform, { body: WATCHED });
  await append(worker, started());
  await using silent = await openSseReader(`${platform.node.url}${path}/events`, { headers });
  await using reader = await openSseReader(`${platform.node.url}${watchedPath}/events`, { headers });
  await silent.nextFrame();
  await expect.poll(() => announced(platform, watched)).toEqual([{ readers: 1, seq: 0 }]);
  await platform.node[Symbol.asyncDispose]();
  expect(await reader.ended).not.toBe("clean");
  expect(await announced(platform, watched)).toEqual([{ readers: 1, seq: 0 }]);
  expect(await announced(platform, ref)).toEqual([]);
});

test("a client whose page fails while it waits counts as gone", async () => {
  await using platform = await openPlatform();
  const { ref, path, worker } = await createGeneration(platform, { body: WATCHED });
  await append(worker, started());
  const url = `${platform.node.url}${path}/events?after=1-1&wait=${LIMITS.pageWaitMs}`;
  const waiting = call(url, { headers: { accept: "application/json" } });
  await expect.poll(() => announced(platform, ref)).toEqual([{ readers: 1, seq: 1 }]);
  const erased = encodeOpsRecord({ kind: "erased", at: new Date().toISOString(), erasure: "era_1" });
  await platform.log.publish(opsSubject("erased", ref.tenant, ref.generation), erased, {});
  expect((await waiting).status).toBe(410);
  await expect.poll(() => announced(platform, ref)).toEqual([{ readers: 0, seq: 1 }]);
});
