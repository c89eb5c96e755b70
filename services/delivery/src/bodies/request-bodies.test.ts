import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { LIMITS } from "@reprise/protocol";
import { expect, test } from "vitest";
import { RequestBodies } from "./request-bodies.ts";

const BYTES = LIMITS.bodyBytes;

function openBodies() {
  return new RequestBodies({ maxBytes: 12 * BYTES, onRefused: () => {} });
}

/** A large body that has been read, and waits for its turn. */
function admitLarge(bodies: RequestBodies) {
  const headers = { "content-length": `${BYTES}` };
  const request = Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage;
  const response = new EventEmitter();
  bodies.admit(request, response as ServerResponse, "acme");
  return { request, turn: bodies.turn(request, BYTES)!, closeAnswer: () => response.emit("close") };
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

test("a body that is not read to its end, or whose call never begins, is given back when its answer closes", async () => {
  const bodies = openBodies();
  const { turn, closeAnswer } = admitLarge(bodies);
  await turn;
  closeAnswer();
  expect(bodies.bytes).toBe(0);
});
