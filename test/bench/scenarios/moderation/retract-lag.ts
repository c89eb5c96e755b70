import { setTimeout as delay } from "node:timers/promises";
import { type Broker, connectBroker } from "@reprise/broker";
import { createGenerationLog, type StoredEvent } from "@reprise/stream";
import {
  decodeEvent,
  type GenerationRef,
  type KnownEvent,
  streamOf,
  textOf,
  STREAM_START,
} from "@reprise/protocol";
import { type Samples, summarize } from "../../measure/samples.ts";
import { startModerated } from "../../targets/reprise/moderated-target.ts";
import { countPlanted } from "../../targets/reprise/moderation-load.ts";
import { measureStream } from "../measure-stream.ts";
import type { RunContext } from "../run-context.ts";
import { startRun } from "../start-run.ts";

export interface RetractLagResult {
  readonly scenario: "RETRACT-LAG";
  /** Matches that the text had; what was not withdrawn has no lag. */
  readonly planted: number;
  /** From the event that completes a match to the decision that withdraws it, both as the broker has stored them, in milliseconds. */
  readonly lagMs: Samples;
  /** The generation's text that was stored in between. */
  readonly characters: Samples;
}

interface Lag {
  readonly ms: number;
  readonly characters: number;
}

const SHAPE = { streams: 100, tokensPerSecond: 50, readersPerStream: 1 };
const READ_AT_ONCE = 10;
/** For the decisions about the last matches. */
const SETTLE_MS = 500;

/** RETRACT-LAG: how long text that is withdrawn was there to be seen, at S1's load, with a match in each stream every 2 s. */
export async function runRetractLag({ settings, quick, signal, say }: RunContext): Promise<RetractLagResult> {
  say("RETRACT-LAG");
  await using run = await startRun(signal, () =>
    startModerated(settings, { use: "retract", text: "planted" }),
  );
  const { load, target } = run;
  const specs = await target.openStreams(SHAPE.streams);
  const shape = { ...SHAPE, warmUpSeconds: 2, seconds: quick ? 4 : 10 };
  await measureStream(target, load, shape, signal, specs);
  await delay(SETTLE_MS, undefined, { signal });

  await using broker = await connectBroker({
    url: target.natsUrl,
    name: "bench-lag",
    onError: console.error,
  });
  const log = createGenerationLog(broker);
  const lags: Lag[] = [];
  for (let at = 0; at < target.refs.length; at += READ_AT_ONCE) {
    const batch = target.refs.slice(at, at + READ_AT_ONCE);
    const read = batch.map(async (ref) => lagsOf(broker, ref, await log.reader.readTail(ref, STREAM_START)));
    lags.push(...(await Promise.all(read)).flat());
  }
  return {
    scenario: "RETRACT-LAG",
    planted: countPlanted(SHAPE.streams, (shape.warmUpSeconds + shape.seconds) * SHAPE.tokensPerSecond),
    lagMs: summarize(lags.map(({ ms }) => ms)),
    characters: summarize(lags.map(({ characters }) => characters)),
  };
}

/** What was withdrawn from one generation. A match ends with the last event of its range. */
async function lagsOf(broker: Broker, ref: GenerationRef, events: readonly StoredEvent[]): Promise<Lag[]> {
  const decoded = events.map(({ payload }) => decodeEvent(payload) as KnownEvent);
  const timeOf = async (seq: number): Promise<number> => {
    const stored = events[decoded.findIndex((event) => event.seq === seq)]!;
    const request = JSON.stringify({ seq: stored.streamSeq });
    const { headers } = await broker.main.request(`$JS.API.DIRECT.GET.${streamOf(ref.generation)}`, request);
    return toMilliseconds(headers!.get("Nats-Time-Stamp"));
  };
  const redacted = decoded.filter((event) => event.type === "moderation.redacted");
  return Promise.all(
    redacted.map(async ({ seq, to_seq: completedBy }) => {
      const [from, to] = await Promise.all([timeOf(completedBy), timeOf(seq)]);
      const between = decoded.filter((event) => event.seq > completedBy && event.seq < seq);
      return { ms: to - from, characters: between.reduce((sum, event) => sum + textOf(event).length, 0) };
    }),
  );
}

/** Milliseconds since 1970, to the microsecond: the broker says nanoseconds, of which a Date has no memory. */
function toMilliseconds(rfc3339: string): number {
  const [, second, fraction = "0"] = /^(.+?:\d\d)(?:(\.\d+))?Z$/.exec(rfc3339)!;
  return Date.parse(`${second}Z`) + Number(fraction) * 1e3;
}
