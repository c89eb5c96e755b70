import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { LIMITS } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { RequestBodies } from "./request-bodies.ts";

const BYTES = LIMITS.bodyBytes;

function openBodies() {
  return new RequestBodies({ maxBytes: 12 * BYTES, onRefused: () => {} });
}

const admitLarge = (bodies: RequestBodies) => admit(bodies, BYTES);
const admitSmall = (bodies: RequestBodies, tenant?: string) => admit(bodies, 10, tenant);

/** A body that has been read, and waits for its turn where it is large. */
function admit(bodies: RequestBodies, bytes: number, tenant = "acme") {
  const headers = { "content-length": `${bytes}` };
  const request = Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage;
  const response = new EventEmitter();
  bodies.admit(request, response as ServerResponse, tenant);
  return { request, turn: bodies.turn(request, bytes)!, closeAnswer: () => response.emit("close") };
}

test("a body whose client leaves while it waits counts until its turn, and is dropped then", async () => {
  const bodies = openBodies();
  const first = admitLarge(bodies);
  expect(await first.turn).toBe(true);
  const waiting = [admitLarge(bodies), admitLarge(bodies)];
  for (const { closeAnswer } of waiting) closeAnswer();
  expect(bodies.bytes).toBe(3 * BYTES);
  bodies.release(first.request);
  expect(await Promise.all(waiting.map(({ turn }) => turn))).toEqual([false, false]);
  expect(bodies.bytes).toBe(0);
});

test("a body counts, and the next one waits, until its call is done with it, though its client has left", async () => {
  const bodies = openBodies();
  const first = admitLarge(bodies);
  await first.turn;
  const next = admitLarge(bodies);
  let hasBegun = false;
  void next.turn.then(() => (hasBegun = true));
  {
    using _ = bodies.keep(first.request);
    first.closeAnswer();
    await new Promise((resolve) => setImmediate(resolve));
    expect([bodies.bytes, hasBegun]).toEqual([2 * BYTES, false]);
  }
  expect(await next.turn).toBe(true);
  expect(bodies.bytes).toBe(BYTES);
});

test("a body whose client has left before it is admitted takes nothing", () => {
  const bodies = openBodies();
  const headers = { "content-length": "10" };
  const request = Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage;
  const response = Object.assign(new EventEmitter(), { destroyed: true }) as unknown as ServerResponse;
  expect(() => bodies.admit(request, response, "acme")).toThrow(
    expect.objectContaining({ code: "connection_lost" }),
  );
  expect(bodies.bytes).toBe(0);
});

test("a body that is not read to its end, or whose call never begins, is given back when its answer closes", async () => {
  const bodies = openBodies();
  const { turn, closeAnswer } = admitLarge(bodies);
  await turn;
  closeAnswer();
  expect(bodies.bytes).toBe(0);
});

describe("what calls read beside their bodies", () => {
  test("is read by eight of them at a time, with room for the longest each, and what is kept counts as long as the body", async () => {
    const bodies = new RequestBodies({ maxBytes: 100 * LIMITS.eventBytes, onRefused: () => {} });
    const calls = Array.from({ length: 9 }, (_, i) => {
      const tenant = ["acme", "beta", "gamma"][i % 3]!;
      const { request } = admitSmall(bodies, tenant);
      return { request, tenant, gate: Promise.withResolvers<{ value: string; bytes: number }>() };
    });
    const own = bodies.bytes;
    let begun = 0;
    const reads = calls.map(({ request, tenant, gate }) =>
      bodies.read([request, tenant], () => {
        begun++;
        return gate.promise;
      }),
    );
    await expect.poll(() => begun).toBe(8);
    expect(bodies.bytes).toBe(own + 8 * LIMITS.eventBytes);
    calls[0]!.gate.resolve({ value: "read", bytes: 100 });
    expect(await reads[0]).toBe("read");
    await expect.poll(() => begun).toBe(9);
    expect(bodies.bytes).toBe(own + 8 * LIMITS.eventBytes + 100);
    for (const { gate } of calls.slice(1)) gate.reject(new Error("gone"));
    expect((await Promise.allSettled(reads)).filter(({ status }) => status === "rejected")).toHaveLength(8);
    expect(bodies.bytes).toBe(own + 100);
    for (const { request } of calls) bodies.release(request);
    expect(bodies.bytes).toBe(0);
  });

  test("is read by three of a tenant at a time: while they wait, another tenant reads", async () => {
    const bodies = new RequestBodies({ maxBytes: 100 * LIMITS.eventBytes, onRefused: () => {} });
    const gate = Promise.withResolvers<{ value: string; bytes: number }>();
    let begun = 0;
    const waiting = Array.from({ length: 8 }, () =>
      bodies.read([admitSmall(bodies).request, "acme"], () => {
        begun++;
        return gate.promise;
      }),
    );
    const { request } = admitSmall(bodies, "beta");
    expect(await bodies.read([request, "beta"], async () => ({ value: "read", bytes: 0 }))).toBe("read");
    await expect.poll(() => begun).toBe(3);
    gate.resolve({ value: "waited", bytes: 0 });
    expect(await Promise.all(waiting)).toHaveLength(8);
    expect(begun).toBe(8);
  });

  test("takes the place of what the same call has read before", async () => {
    const bodies = new RequestBodies({ maxBytes: 100 * LIMITS.eventBytes, onRefused: () => {} });
    const { request } = admitSmall(bodies);
    const own = bodies.bytes;
    for (const bytes of [100, 200, 150]) {
      await bodies.read([request, "acme"], async () => ({ value: "read", bytes }));
      expect(bodies.bytes).toBe(own + bytes);
    }
    bodies.release(request);
    expect(bodies.bytes).toBe(0);
  });

  test("is refused where the tenant has its share of others, before it is read", async () => {
    let refused = 0;
    const bodies = new RequestBodies({ maxBytes: 2 * LIMITS.eventBytes, onRefused: () => void refused++ });
    const { request } = admitSmall(bodies);
    const read = () => expect.unreachable("it was read");
    await expect(bodies.read([request, "acme"], read)).rejects.toMatchObject({
      code: "overloaded",
      retryable: true,
    });
    expect(refused).toBe(1);
  });
});
