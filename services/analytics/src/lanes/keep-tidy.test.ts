import { asSeq, encodeEvent } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { listRowFiles } from "../facts/listing/kept-listing.ts";
import { keepErrors } from "../testing/keep-errors.ts";
import { openLaneWorld } from "../testing/lane-world.ts";
import { keepTidy } from "./keep-tidy.ts";

test("a lane's commits are merged while it continues, and a restart and each row are what they were", async () => {
  await using world = await openLaneWorld();
  const stop = new AbortController();
  const errors: unknown[] = [];
  const done = keepTidy(
    {
      tidier: world.facts.tidier("GENERATIONS_0"),
      connection: world.broker.reads,
      stream: "GENERATIONS_0",
      onError: keepErrors(errors),
      everyMs: 20,
    },
    stop.signal,
  );
  const limits = { maxMessages: 1, maxAgeMs: 10, maxBytes: 1_000_000 };
  const refs = Array.from({ length: 18 }, () => createRef());
  const lane = world.start({ limits });
  for (const ref of refs) {
    const drafts = [requested(ref), started(), delta("a"), completed()];
    for (const [seq, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(seq), draft));
  }
  const merged = async () =>
    (await listRowFiles(world.store, "generations")).filter(({ key }) => key.startsWith("merged/"));
  await expect.poll(async () => (await merged()).length).toBe(1);
  await expect.poll(async () => (await world.rows()).length).toBe(refs.length);
  await lane.stop();
  stop.abort();
  await done;
  await using again = world.start({ limits });
  const last = createRef();
  const drafts = [requested(last), started(), completed()];
  for (const [seq, draft] of drafts.entries()) await world.append(last, encodeEvent(asSeq(seq), draft));
  await expect.poll(async () => (await world.rows()).length).toBe(refs.length + 1);
  for (const row of await world.rows()) {
    const ref = [...refs, last].find(({ generation }) => generation === row.generation);
    expect(row).toEqual(ref && (await world.foldStored(ref)));
  }
  expect([...errors, ...again.errors]).toEqual([]);
});
