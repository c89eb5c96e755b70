import { describe, expect, it, vi } from "vitest";
import { createClient } from "../client.ts";
import { completedLog } from "../testing/example-log.ts";
import { type Fault, startFakeDelivery } from "../testing/fake-delivery.ts";
import { FAKE_ID } from "../testing/fake-log.ts";
import { createTestRuntime, IDLE_TIMEOUT_MS } from "../testing/test-runtime.ts";

const log = completedLog(["a", "b", "c"]);
const UNAUTHENTICATED = '{"error":{"code":"unauthenticated","message":"Expired.","retryable":false}}';

/** A token of the form that the platform mints; `n` tells it from others. */
function tokenOf(n: number, lifeSeconds = 900): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [
    encode({ alg: "EdDSA" }),
    encode({ jti: `t${n}`, iat: 1_000, exp: 1_000 + lifeSeconds }),
    "sig",
  ].join(".");
}

async function open(faults: readonly Fault[], getToken: () => string | Promise<string>) {
  const runtime = createTestRuntime();
  const delivery = await startFakeDelivery({ log, faults });
  const { generations } = createClient({
    url: delivery.url,
    getToken,
    runtime,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  });
  const sent = () => delivery.requests.map(({ headers }) => headers.authorization);
  return { delivery, runtime, generations, sent };
}

/** Tokens t1, t2, … */
function numbered(lifeSeconds?: number) {
  let count = 0;
  return vi.fn<() => Promise<string>>(async () => tokenOf(++count, lifeSeconds));
}

const bearers = (...numbers: number[]) => numbers.map((n) => `Bearer ${tokenOf(n)}`);

describe("getToken", () => {
  it("is called once for calls that are made together, and not again while its token lasts", async () => {
    const getToken = numbered();
    const { delivery, generations, sent } = await open([], getToken);
    await using _ = delivery;
    await Promise.all([generations.get(FAKE_ID), generations.get(FAKE_ID)]);
    await generations.stream(FAKE_ID).done();
    expect([getToken.mock.calls.length, sent()]).toEqual([1, bearers(1, 1, 1)]);
  });

  it("is called again when the server takes its token no more, and only once for each refusal", async () => {
    const refused: Fault = { kind: "answer", status: 401, body: UNAUTHENTICATED };
    const { delivery, generations, sent } = await open([refused], numbered());
    await using _ = delivery;
    expect((await generations.get(FAKE_ID)).id).toBe(FAKE_ID);
    expect(sent()).toEqual(bearers(1, 2));
    const always = await open([refused, refused], numbered());
    await using refusing = always.delivery;
    await expect(always.generations.get(FAKE_ID)).rejects.toMatchObject({ code: "unauthenticated" });
    expect([refusing.requests.length, always.sent()]).toEqual([2, bearers(1, 2)]);
  });

  it("lets a stream that is broken off for its token continue with a fresh one, each event once", async () => {
    const fault: Fault = { kind: "error_frame", afterEvents: 2, body: UNAUTHENTICATED };
    const { delivery, generations, sent } = await open([fault], numbered());
    await using _ = delivery;
    const events = [];
    for await (const event of generations.stream(FAKE_ID)) events.push(event);
    expect(events).toEqual(log);
    expect(sent()).toEqual(bearers(1, 2));
  });

  it("is called before a token's end; the stream moves over at its cursor, without a pause, each event once", async () => {
    const getToken = numbered();
    const { delivery, runtime, generations, sent } = await open(
      [{ kind: "stall", afterEvents: 2 }],
      getToken,
    );
    await using _ = delivery;
    const stream = generations.stream(FAKE_ID);
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (events.length === 1) runtime.advance(900_000 - 60_000);
    }
    expect(events).toEqual(log);
    expect([sent(), stream.reconnects, runtime.pauses]).toEqual([bearers(1, 2), 1, [0]]);
  });

  it("that fails is asked again, as a broken connection is, and what is no token is a wrong option", async () => {
    let count = 0;
    const flaky = async () => {
      if (++count === 1) throw new Error("offline");
      return tokenOf(count);
    };
    const { delivery, generations, sent } = await open([], flaky);
    await using _ = delivery;
    await generations.get(FAKE_ID);
    expect(sent()).toEqual(bearers(2));
    const wrong = await open([], () => "a\nb");
    await using unasked = wrong.delivery;
    await expect(wrong.generations.get(FAKE_ID)).rejects.toMatchObject({
      code: "invalid_request",
      param: "getToken",
    });
    expect(unasked.requests).toEqual([]);
  });
});
