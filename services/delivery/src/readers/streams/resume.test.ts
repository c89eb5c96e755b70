import { jetstreamManager } from "@nats-io/jetstream";
import { logSubject, streamOf } from "@reprise/protocol";
import { openSseReader, startTcpProxy, withSeed } from "@reprise/testkit";
import { EventSource } from "eventsource";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  deltas,
  openPlatform,
  started,
} from "../../testing/platform.ts";

const headers = authorization();

describe("a reader that is cut anywhere", () => {
  test("resumes, 200 times over one generation, and has exactly the bytes of an undisturbed one", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(120), completed());
    const url = `${platform.node.url}${path}/events`;
    await using undisturbed = await openSseReader(url, { headers });
    expect(await undisturbed.ended).toBe("clean");
    const expected = undisturbed.frames.map(({ id, data }) => [id, data]);
    const length = undisturbed.bytes.length;

    await withSeed(200, async (random) => {
      for (let cut = 0; cut < 200;) {
        const seen: (string | undefined)[][] = [];
        let lastEventId = "";
        for (let over = false; !over;) {
          const cutAfterBytes = random.integer(1, Math.floor(length / 3));
          await using proxy = await startTcpProxy({
            target: { port: Number(new URL(url).port) },
            faults: { toClient: { cutAfterBytes } },
          });
          const through = new URL(url);
          through.port = `${proxy.port}`;
          const reader = await openSseReader(through.href, { headers, lastEventId }).catch(() => undefined);
          // The cut may have come before the headers.
          const end = (await reader?.ended) ?? "broken";
          seen.push(...(reader?.frames ?? []).map(({ id, data }) => [id, data]));
          lastEventId = reader?.lastEventId || lastEventId;
          over = end === "clean";
          cut += Number(!over);
        }
        expect(seen).toEqual(expected);
      }
    });
  });

  test("is an unmodified EventSource behind a network that breaks", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await withSeed(7, async (random) => {
      await using proxy = await startTcpProxy({
        target: { port: Number(new URL(platform.node.url).port) },
        // The headers take some 300 bytes.
        faults: (index) => (index < 4 ? { toClient: { cutAfterBytes: random.integer(450, 1_500) } } : {}),
      });
      const seen: { id: string; data: string }[] = [];
      const { promise: stopped, resolve } = Promise.withResolvers<void>();
      const source = new EventSource(`http://127.0.0.1:${proxy.port}${path}/events`, {
        fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
      });
      source.addEventListener("message", ({ lastEventId: id, data }) =>
        seen.push({ id, data: data as string }),
      );
      source.addEventListener("error", () => source.readyState === source.CLOSED && resolve());
      await append(worker, started(), ...deltas(40), completed());
      await stopped;
      const { events } = await platform.log.reader.readLog(ref);
      expect(seen.map(({ data }) => data)).toEqual(
        events.slice(1).map((payload) => Buffer.from(payload).toString()),
      );
      expect(seen.map(({ id }) => id)).toEqual(seen.map((_, i) => `1-${i + 1}`));
    });
  });
});

describe("a cursor", () => {
  test("that is not of this log is invalid", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(3));
    const url = `${platform.node.url}${path}/events`;
    const cursors = [
      "1-5",
      "1-99999",
      "2-3",
      "0-3",
      "1-0",
      "garbage",
      "1",
      "1-1 ",
      "01-1",
      "-1-1",
      "1-1-1",
      "1-9999999999",
    ];
    for (const cursor of cursors) {
      for (const accept of ["text/event-stream", "application/json"]) {
        const byQuery = await call(`${url}?after=${encodeURIComponent(cursor)}`, { headers: { accept } });
        const said = { error: { code: "cursor_invalid", param: "after", retryable: false } };
        expect([cursor, byQuery.status, byQuery.json]).toMatchObject([cursor, 400, said]);
      }
    }
    const byHeader = await call(`${url}?after=1-1`, { headers: { "last-event-id": "garbage" } });
    expect(byHeader.json).toMatchObject({ error: { code: "cursor_invalid", param: "Last-Event-ID" } });
    const wrongByHeader = await call(url, { headers: { "last-event-id": "2-3" } });
    expect(wrongByHeader.json).toMatchObject({ error: { code: "cursor_invalid", param: "Last-Event-ID" } });
  });

  test("in the header is newer than the one in the URL", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(3), completed());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers,
      after: "1-1",
      lastEventId: "1-3",
    });
    await reader.ended;
    expect(reader.frames.map(({ id }) => id)).toEqual(["1-4", "1-5"]);
  });

  test("whose events are no longer kept is expired, at a node that never had them", async () => {
    await using platform = await openPlatform();
    const { path, ref, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(10));
    await purgeHead(platform.broker.main, ref, 6);
    const url = `${platform.node.url}${path}/events`;
    for (const after of ["", "1-2", "1-8"]) {
      for (const accept of ["text/event-stream", "application/json"]) {
        const { status, json } = await call(`${url}?after=${after}`, { headers: { accept } });
        expect([after, accept, status, json]).toMatchObject([
          after,
          accept,
          410,
          { error: { code: "cursor_expired" } },
        ]);
      }
    }
  });

  test("whose events are no longer kept is expired, at a node that has only the newer ones in memory", async () => {
    await using platform = await openPlatform({ hubBytes: 1 });
    const { path, ref, worker } = await createGeneration(platform);
    const url = `${platform.node.url}${path}/events`;
    await using follower = await openSseReader(url, { headers });
    const long = "x".repeat(20_000);
    await append(
      worker,
      started(),
      ...Array.from({ length: 40 }, () => ({ type: "output.delta" as const, text: long })),
    );
    while (follower.frames.length < 41) await follower.nextFrame();
    await memoryTrimmed(platform.node.opsUrl);
    await purgeHead(platform.broker.main, ref, 20);
    for (const accept of ["text/event-stream", "application/json"]) {
      const { status, json } = await call(`${url}?after=1-2`, { headers: { accept } });
      expect([accept, status, json]).toMatchObject([accept, 410, { error: { code: "cursor_expired" } }]);
    }
    // A reader that needs only what is there gets it.
    await append(worker, completed());
    await using late = await openSseReader(url, { headers, after: "1-41" });
    expect(await late.ended).toBe("clean");
    expect(late.frames.map(({ id }) => id)).toEqual(["1-42"]);
  });
});

/** Takes the oldest events away, as the retention does; `kept` is the first that stays. */
async function purgeHead(
  connection: Parameters<typeof jetstreamManager>[0],
  ref: Parameters<typeof logSubject>[0],
  kept: number,
): Promise<void> {
  const manager = await jetstreamManager(connection);
  const stream = streamOf(ref.generation);
  // Alone in its stream, an event has the stream sequence `seq` + 1.
  await manager.streams.purge(stream, { filter: logSubject(ref), seq: kept + 1 });
}

/** Resolves when the node has let go of what it may. */
async function memoryTrimmed(url: string): Promise<void> {
  const bytes = async () =>
    Number(/^reprise_hub_memory_bytes (\d+)$/m.exec((await call(`${url}/metrics`)).text)?.[1]);
  await expect.poll(bytes).toBeLessThan(200_000);
}
