import { asStreamSeq } from "@reprise/protocol";
import { EventEmitter } from "node:events";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Broker } from "@reprise/broker";
import { readBackfill } from "./backfill.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

type Reply = Pick<Msg, "data"> & {
  headers: Iterable<[string, string[]]> & { code: number; get: (name: string) => string };
};

const reply = (data: string, headers: Record<string, string> = {}, code = 0): Reply => ({
  data: Buffer.from(data),
  headers: {
    code,
    get: (name) => headers[name] ?? "",
    *[Symbol.iterator]() {
      for (const [name, value] of Object.entries(headers)) yield [name, [value]] as [string, string[]];
    },
  },
});

/** A stream of this number of messages whose replicas answer each batch with the next of these lists of places. */
function brokerOf(last: number, batches: (() => number[])[]): Broker {
  const answers = new EventEmitter();
  const respond = (subject: string): object[] => {
    if (subject.startsWith("$JS.API.STREAM.INFO."))
      return [{ json: () => ({ state: { first_seq: 1, last_seq: last } }), data: Buffer.from("{}") }];
    const places = batches.shift()?.() ?? [];
    return [...places.map((place) => reply("{}", { "Nats-Sequence": `${place}` })), reply("", {}, 204)];
  };
  const connection: Partial<NatsConnection> = {
    isClosed: () => false,
    isDraining: () => false,
    closed: () => new Promise(() => {}),
    status: async function* () {},
    subscribe: (_subject, options) =>
      answers.on("reply", (message: Msg) => void options?.callback?.(null, message)) as never,
    publish(subject, _payload, options) {
      queueMicrotask(() => {
        for (const message of respond(subject))
          answers.emit("reply", { ...message, subject: options?.reply ?? "" });
      });
    },
  };
  return { reads: connection } as Broker;
}

test("a replica that lags late in a long read is waited for as long as one that lags at its beginning", async () => {
  const longBatch = () => {
    vi.advanceTimersByTime(60_000);
    return [1, 2];
  };
  const places: number[] = [];
  await readBackfill({
    broker: brokerOf(4, [longBatch, () => [], () => [3, 4]]),
    shard: 0,
    afterStreamSeq: asStreamSeq(0),
    upToStreamSeq: asStreamSeq(4),
    signal: new AbortController().signal,
    onMessage: ({ streamSeq }) => places.push(streamSeq),
  });
  expect(places).toEqual([1, 2, 3, 4]);
});
