import { encodeSseFrame } from "@reprise/protocol";
import { openSseReader, withSeed } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  openPlatform,
  openWorker,
  type Platform,
  started,
} from "../../testing/platform.ts";
import { openRawConnection, rawGet } from "../../testing/raw-connection.ts";

const RETRY = "retry: 250\n";

/** Makes, from the log itself, the bytes that PROTOCOL.md specifies for a reader of the whole log. */
async function expectedBytes(
  { log }: Platform,
  ref: Parameters<Platform["log"]["reader"]["readLog"]>[0],
): Promise<string> {
  const { events } = await log.reader.readLog(ref);
  let attempt = 0;
  const frames = events.slice(1).map((payload) => {
    const event = JSON.parse(Buffer.from(payload).toString()) as { seq: number; attempt?: number };
    attempt = event.attempt ?? attempt;
    return encodeSseFrame(`${attempt}-${event.seq}`, Buffer.from(payload).toString());
  });
  return RETRY + frames.join("");
}

describe("readers of one generation", () => {
  test("get the same bytes, whenever they join and at whichever node", async () => {
    await using platform = await openPlatform();
    const nodes = [platform.node, await platform.addNode(), await platform.addNode({ hubBytes: 1 })];
    const { path, ref, worker } = await createGeneration(platform);
    await withSeed(31, async (random) => {
      const drafts = [started(), ...deltas(150), started(2), ...deltas(60, 151), completed()];
      const joinAt = Array.from({ length: 50 }, () => random.integer(0, drafts.length));
      const readers = [];
      for (let i = 0; i <= drafts.length; i++) {
        for (const _ of joinAt.filter((at) => at === i)) {
          const url = `${random.pick(nodes).url}${path}/events`;
          readers.push(await openSseReader(url, { headers: authorization() }));
        }
        await append(worker, ...drafts.slice(i, i + 1));
      }
      const expected = await expectedBytes(platform, ref);
      const ends = await Promise.all(readers.map(({ ended }) => ended));
      expect(ends).toEqual(readers.map(() => "clean"));
      expect(readers.map(({ bytes }) => bytes.toString())).toEqual(readers.map(() => expected));
    });
  });

  test("see the attempt in every cursor, takeovers included", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), started(2), delta("b"), completed());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    await reader.ended;
    expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "2-3", "2-4", "2-5"]);
  });

  test("see nothing of the request", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform, {
      body: { model: "sim", input: "the prompt" },
    });
    await append(worker, started(), completed());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    await reader.ended;
    expect(reader.bytes.toString()).not.toContain("the prompt");
    const page = await call(`${platform.node.url}${path}/events`, {
      headers: { accept: "application/json" },
    });
    expect(page.text).not.toContain("the prompt");
  });
});

describe("a stream", () => {
  test("is silent between events but for heartbeats of one line, between frames", async () => {
    await using platform = await openPlatform({ heartbeatMs: 40 });
    const { path, worker } = await createGeneration(platform);
    await using connection = await openRawConnection(platform.node.url);
    connection.send(rawGet(`${path}/events`, authorization(), "1.0"));
    await connection.until(": ping\n: ping\n");
    await append(worker, started());
    await connection.until("1-1");
    await connection.until("}\n\n: ping\n: ping\n");
    await append(worker, delta("a"), completed());
    await connection.ended;
    const body = connection.text.slice(connection.text.indexOf("\r\n\r\n") + 4);
    expect(body.replaceAll(/^: ping\n/gm, "")).toMatch(
      /^retry: 250\nid: 1-1\ndata: .*\n\nid: 1-2\ndata: .*\n\nid: 1-3\ndata: .*\n\n$/,
    );
    expect(body).not.toMatch(/: ping\n\n/);
  });

  test("tells the delay as part of its first frame", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    await append(worker, started());
    await reader.nextFrame();
    expect(reader.bytes.toString()).toMatch(/^retry: 250\nid: 1-1\ndata: \{"seq":1,[^\n]*\n\n$/);
  });

  test("that the node has to leave breaks: it never ends cleanly before the end", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
    });
    await reader.nextFrame();
    platform.node.delivery.drain();
    expect(await reader.ended).toBe("broken");
  });

  test("answers 204 to a reader that has seen the end, and only then", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    const statusAt = async (after: string) => {
      await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
        headers: authorization(),
        after,
      });
      await reader.ended;
      return [reader.status, reader.frames.length];
    };
    expect(await statusAt("1-3")).toEqual([204, 0]);
    expect(await statusAt("1-2")).toEqual([200, 1]);
    expect(await statusAt("")).toEqual([200, 3]);
    expect(await statusAt("0-0")).toEqual([200, 3]);
  });

  test("continues at another node that has not seen the generation yet", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(3));
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: authorization(),
      after: "1-2",
    });
    await reader.nextFrame();
    reader.cut();
    await using second = await openSseReader(`${other.url}${path}/events`, {
      headers: authorization(),
      lastEventId: reader.lastEventId,
    });
    await append(await openWorker(platform.log, ref), completed());
    await second.ended;
    const seen = [...reader.frames, ...second.frames].map(({ id }) => id);
    expect(seen).toEqual(["1-3", "1-4", "1-5"]);
  });
});
