import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { openSseReader } from "@reprise/testkit";
import { nativeSseFraming } from "./readers/streams/native-sse-framing.ts";
import { expect, test, vi } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  started,
} from "./testing/platform.ts";

const headers = authorization();
const HUB_BYTES = 1_048_576;
/** Less than a delta is split at. */
const EVENT_BYTES = 30_000;
const EVENTS = 600;

test("a reader that does not read costs no memory, delays no other reader, and gets everything in the end", async () => {
  // Heartbeats come by time, and the bytes of both readers are compared.
  await using platform = await openPlatform({ hubBytes: HUB_BYTES, heartbeatMs: 600_000 });
  const { path, worker } = await createGeneration(platform);
  const url = `${platform.node.url}${path}/events`;
  using sockets = watchServerSockets();
  await using slow = await openSseReader(url, { headers });
  await using quick = await openSseReader(url, { headers });
  slow.pause();
  const written = vi.spyOn(nativeSseFraming, "write");

  await append(worker, started());
  let most = 0;
  for (let i = 1; i <= EVENTS; i++) {
    await append(worker, delta(`${i} ${"x".repeat(EVENT_BYTES)}`));
    while (quick.frames.length <= i) await quick.nextFrame();
    most = Math.max(most, sockets.mostUnread());
  }
  // Both readers share one frame per event: nothing is built for the slow one while it does not read.
  expect(written).toHaveBeenCalledTimes(EVENTS + 1);
  written.mockRestore();
  // What lies unread in this process: one write, and what a socket takes before it says that it is full.
  expect(most).toBeLessThan(2 * 65_536 + EVENT_BYTES);
  await expect
    .poll(() => metric(platform.node.opsUrl, "reprise_hub_memory_bytes"))
    .toBeLessThan(HUB_BYTES + 2 * EVENT_BYTES);
  await append(worker, completed());
  expect(await quick.ended).toBe("clean");

  slow.resume();
  expect(await slow.ended).toBe("clean");
  expect(slow.bytes.equals(quick.bytes)).toBe(true);
  expect(slow.frames.map(({ id }) => id)).toEqual(Array.from({ length: EVENTS + 2 }, (_, i) => `1-${i + 1}`));
  expect(await metric(platform.node.opsUrl, "reprise_readers_fallen_back_total")).toBeGreaterThanOrEqual(1);
  expect(await metric(platform.node.opsUrl, "reprise_events_delivered_total")).toBe(2 * (EVENTS + 2));
});

test("an event is framed once at a node, for any number of readers", async () => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform);
  const written = vi.spyOn(nativeSseFraming, "write");
  const readers = await Promise.all(
    Array.from({ length: 30 }, () => openSseReader(`${platform.node.url}${path}/events`, { headers })),
  );
  await append(worker, started(), ...Array.from({ length: 20 }, (_, i) => delta(`${i}`)), completed());
  await Promise.all(readers.map(({ ended }) => ended));
  expect(written).toHaveBeenCalledTimes(22);
  written.mockRestore();
});

/** The server's ends of all connections that are made from now on. */
function watchServerSockets() {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown) => sockets.push((message as { socket: Socket }).socket);
  subscribe("net.server.socket", onSocket);
  return {
    sockets,
    /** The most bytes that one of them holds because its peer takes no more. */
    mostUnread: () => Math.max(...sockets.map(({ writableLength }) => writableLength)),
    [Symbol.dispose]: () => void unsubscribe("net.server.socket", onSocket),
  };
}

async function metric(url: string, name: string): Promise<number> {
  const { text } = await call(`${url}/metrics`);
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)![1]);
}
