import type { Generation } from "@reprise/protocol";
import { openSseReader, withSeed } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  JSON_TYPE,
  openPlatform,
  started,
} from "../testing/platform.ts";

const cancel = (url: string, body?: unknown) => call(`${url}/cancel`, { method: "POST", body });

describe("a cancel", () => {
  test("is answered when the log has its end, with what was said before it", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), delta("Hel"));
    const { status, json } = await cancel(`${platform.node.url}${path}`, { reason: "enough" });
    expect([status, json]).toMatchObject([
      200,
      { status: "cancelled", text: "Hel", cursor: "1-3", usage: { output_tokens: 1 } },
    ]);
    const last = await platform.log.reader.readLast(ref);
    expect(JSON.parse(Buffer.from(last!.payload).toString())).toMatchObject({
      type: "generation.cancelled",
      reason: "enough",
    });
  });

  test("ends the streams of all readers, cleanly", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const open = (url: string) => openSseReader(`${url}${path}/events`, { headers: authorization() });
    await using one = await open(platform.node.url);
    await using two = await open(other.url);
    await cancel(`${platform.node.url}${path}`);
    expect([await one.ended, await two.ended]).toEqual(["clean", "clean"]);
    expect(two.frames.map(({ id }) => id)).toEqual(["1-1", "1-2"]);
  });

  test("before any worker has begun ends the generation", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const { json } = await cancel(`${platform.node.url}${path}`);
    expect(json).toMatchObject({ status: "cancelled", text: "", cursor: "0-1" });
  });

  test.each([undefined, "", "{}"])("needs no reason, nor a body: %j", async (body) => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const url = `${platform.node.url}${path}/cancel`;
    const { status, json } = await call(url, { method: "POST", headers: JSON_TYPE, body });
    expect([status, json]).toMatchObject([200, { status: "cancelled" }]);
  });

  test("is idempotent, and leaves a generation that has ended as it ended", async () => {
    await using platform = await openPlatform();
    const one = await createGeneration(platform);
    const answers = await Promise.all([1, 2, 3].map(() => cancel(`${platform.node.url}${one.path}`)));
    expect(answers.map(({ json }) => json)).toEqual(answers.map(() => answers[0]!.json));
    const two = await createGeneration(platform);
    await append(two.worker, started(), completed());
    const { status, json } = await cancel(`${platform.node.url}${two.path}`);
    expect([status, json]).toMatchObject([200, { status: "completed", cursor: "1-2" }]);
  });

  test("that races with the completion has one winner, which all readers see", async () => {
    await using platform = await openPlatform();
    const isFence = ({ type }: { type: string }) => type === "generation.cancelled";
    await withSeed(5, async (random) => {
      for (let round = 0; round < 30; round++) {
        const { path, worker, ref } = await createGeneration(platform, { appender: { isFence } });
        await append(worker, started());
        worker.append(delta("a"));
        const early = random.chance(0.5) ? cancel(`${platform.node.url}${path}`) : undefined;
        worker.append(completed());
        const { json } = await (early ?? cancel(`${platform.node.url}${path}`));
        await worker.settled();
        const { events } = await platform.log.reader.readLog(ref);
        const ends = events
          .map((payload) => Buffer.from(payload).toString())
          .filter((text) => /"generation\.(completed|cancelled)"/.test(text));
        expect(ends).toHaveLength(1);
        expect(ends[0]).toContain(`"generation.${(json as Generation).status}"`);
        expect((await call(`${platform.node.url}${path}`)).json).toEqual(json);
      }
    });
  });
});
