import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createSeededRandom, withSeed } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { type HostileConnection, hostileConnection } from "./testing/hostile-requests.ts";
import { call, KEYS, openPlatform } from "./testing/platform.ts";
import { openRawConnection } from "./testing/raw-connection.ts";

const CONNECTIONS = 6_000;
const AT_ONCE = 50;

/** Descriptors and other resources that the process holds, including the sockets of both sides. */
const held = () => ({
  descriptors: readdirSync("/dev/fd").length,
  sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
});

/** Returns the increase since now. Resources that other parts of the process close meanwhile are not subtracted. */
function watchHeld() {
  const before = held();
  return () => {
    const now = held();
    return {
      descriptors: Math.max(0, now.descriptors - before.descriptors),
      sockets: Math.max(0, now.sockets - before.sockets),
    };
  };
}

async function act(url: string, { pieces, leave }: HostileConnection): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const heard = new Promise((resolve) => socket.once("data", resolve).once("end", resolve));
  socket.on("error", () => {}).resume();
  await Promise.race([once(socket, "connect"), closed]);
  for (const piece of pieces) {
    if (!socket.destroyed) socket.write(piece);
    await turn();
  }
  // What waits for more, such as half a request, is left by its client.
  if (leave === "wait") await Promise.race([heard, closed, turns(20)]);
  if (leave === "fin") {
    socket.end();
    await Promise.race([heard, closed, turns(20)]);
  }
  if (leave === "reset" && !socket.destroyed) socket.resetAndDestroy();
  socket.destroy();
  await closed;
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

test("bytes after the body of an answered request cost no descriptor, and the node still closes", async () => {
  await using platform = await openPlatform();
  const { url, delivery } = platform.node;
  const leaked = watchHeld();
  for (const head of ["HTTP/1.1\r\nConnection: close", "HTTP/1.0", "HTTP/1.1"]) {
    const request = `PUT /v1/generations ${head}\r\nhost: x\r\nContent-Length: 2\r\n\r\n{}`;
    await act(url, { pieces: [`${request}xxx`], leave: "fin" });
    await act(url, { pieces: [request, "xxx"], leave: "fin" });
  }
  await expect.poll(leaked).toEqual({ descriptors: 0, sockets: 0 });
  await delivery.close();
});

test("hostile connections cost nothing that outlives them, and the node still answers and closes", async () => {
  await using platform = await openPlatform();
  const { url, delivery } = platform.node;
  const leaked = watchHeld();
  await withSeed(20_261_122, async ({ seed }) => {
    const random = createSeededRandom(seed);
    const keys = [KEYS.acme, KEYS.acmeReader, "rk_unknown"];
    let left = CONNECTIONS;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) await act(url, hostileConnection(random, keys));
      }),
    );
    await expect.poll(leaked).toEqual({ descriptors: 0, sockets: 0 });
  });
  expect((await call(`${url}/`)).status).toBe(404);
  await delivery.close();
});

describe("a request that Node or Fastify would take, or refuse without a word, is refused with the body that every refusal has", () => {
  const host = "Host: reprise";
  test.each([
    [
      "an expectation that the server can't meet",
      KEYS.acme,
      [host, "Expect: 200-ok"],
      400,
      "invalid_request",
    ],
    ["the same with an unknown key", "rk_unknown", [host, "Expect: 200-ok"], 401, "unauthenticated"],
    ["no host", KEYS.acme, [], 400, "invalid_request"],
    ["a compressed body", KEYS.acme, [host, "Content-Encoding: gzip"], 415, "unsupported_media_type"],
    ["more than a key in its authorization", `${KEYS.acme} .`, [host], 401, "unauthenticated"],
  ] as const)("%s", async (_, key, lines, status, code) => {
    await using platform = await openPlatform();
    await using raw = await openRawConnection(platform.node.url);
    const head = ["POST /v1/generations HTTP/1.1", `Authorization: Bearer ${key}`, ...lines];
    const rest = ["Content-Type: application/json", "Content-Length: 2", "Connection: close"];
    raw.send(`${[...head, ...rest].join("\r\n")}\r\n\r\n{}`);
    await raw.until(`"code":"${code}"`);
    expect(raw.text).toContain(`HTTP/1.1 ${status} `);
  });
});
