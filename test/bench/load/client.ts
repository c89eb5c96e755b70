import { setTimeout as delay } from "node:timers/promises";
import { serveParent } from "../children/serve-parent.ts";
import { nowMicros } from "../measure/clock.ts";
import type { ReaderSpec } from "../targets/target.ts";
import { type MeasureOrder, type Measured, Measurement } from "./measurement.ts";
import type { CatchUpOrder, CollectOrder, ConnectOrder } from "./load-client.ts";
import { openReader, openStalledReader } from "./reader.ts";

const CONNECT_AT_ONCE = 100;
const POLL_MS = 20;

let readers: Disposable[] = [];
let measurement = new Measurement();

async function connect({ specs, copies }: ConnectOrder): Promise<void> {
  measurement = new Measurement();
  const all = specs.flatMap((spec) => Array.from({ length: copies }, () => spec));
  for (let at = 0; at < all.length; at += CONNECT_AT_ONCE) {
    const batch = all
      .slice(at, at + CONNECT_AT_ONCE)
      .map((spec) => openReader(spec, measurement.createListener(countedAs(spec))));
    readers.push(...(await Promise.all(batch)));
  }
}

function countedAs(spec: ReaderSpec): number {
  return spec.transport === "sse" ? (spec.countedAs ?? 0) : 0;
}

async function stall({ specs, copies }: ConnectOrder): Promise<void> {
  const all = specs.flatMap((spec) => Array.from({ length: copies }, () => spec));
  readers.push(...(await Promise.all(all.map(openStalledReader))));
}

/** Waits for tokens that are still under way. */
async function collect({ expected, patienceMs }: CollectOrder): Promise<Measured> {
  const giveUpAt = performance.now() + patienceMs;
  while (measurement.count < expected && performance.now() < giveUpAt) await delay(POLL_MS);
  return measurement.result(expected);
}

/** Opens one more reader; resolves with the microseconds from its first packet to its last event. */
function catchUp(spec: ReaderSpec, events: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const startMicros = nowMicros();
  let seen = 0;
  const onToken = () => {
    if (++seen === events) resolve(nowMicros() - startMicros);
  };
  const onLost = () => reject(new Error(`A reader was lost after ${seen} of ${events} events.`));
  openReader(spec, { onToken, onCounted: onToken, onLost }).then((reader) => readers.push(reader), reject);
  return promise;
}

function disconnect(): void {
  for (const reader of readers) reader[Symbol.dispose]();
  readers = [];
}

serveParent({
  connect,
  stall,
  collect,
  disconnect,
  measureFrom: (order: MeasureOrder) => measurement.begin(order),
  catchUp: ({ spec, copies, events }: CatchUpOrder): Promise<number[]> =>
    Promise.all(Array.from({ length: copies }, () => catchUp(spec, events))),
});
