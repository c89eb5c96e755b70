import { startChild } from "../children/child.ts";
import type { EchoMeasured, EchoOrder } from "../load/echo-client.ts";
import { type LoadClient, startLoadClient } from "../load/load-client.ts";
import type { Measured } from "../load/measurement.ts";
import { summarize } from "../measure/samples.ts";
import { SHARDS } from "../targets/reprise/broker.ts";
import { startPlatform } from "../targets/reprise/platform.ts";
import { type RepriseTarget, startReprise } from "../targets/reprise/target.ts";
import type { ReaderSpec } from "../targets/target.ts";
import { describeShape, measureStream, s1Shape } from "./measure-stream.ts";
import { bestOfRounds, isComplete, type RunContext, type ScenarioResult, startRun } from "./run.ts";

const GAP_MS = 25;

/**
 * DUPLEX: S1's streams, each with a reader by SSE and one by a WebSocket that all share, at the same time; and words that are sent as input until the
 * simulator's echo is back, on an idle machine, beside the acknowledgement of one append. Reprise only.
 */
export async function runDuplex(context: RunContext): Promise<ScenarioResult> {
  const { quick, settings, signal, say } = context;
  const shape = s1Shape(context);
  const { rows, rounds } = await bestOfRounds(["beside"], quick ? 1 : 3, async (_, round) => {
    say(`DUPLEX, round ${round}`);
    await using run = await startRun(signal, () => startReprise(settings));
    await using socketClient = await startLoadClient();
    const { target } = run;
    const specs = await target.openStreams(shape.streams);
    const load = beside(run.load, socketClient, toSessions(target));
    const { latencyMicros, missing, disordered } = await measureStream(target, load, shape, signal, specs);
    const socket = load.besides();
    return {
      latencyMicros,
      socketMicros: socket.latencyMicros,
      missing: missing + socket.missing,
      disordered: disordered + socket.disordered,
    };
  });
  const times = rounds.flat().filter(isComplete);
  const p99TimesSse = summarize(times.map((row) => row.socketMicros.p99 / row.latencyMicros.p99)).p50;
  say("DUPLEX, echo");
  const { appendMs, echoMs } = await measureEcho(context);
  return {
    scenario: "DUPLEX",
    what: `${describeShape(shape)}, by SSE and by one WebSocket; echoes of single words over it`,
    rows: [
      { ...rows[0], p99TimesSse: times.length > 0 ? p99TimesSse : undefined },
      { echoMs, appendMs, p50TimesAppend: echoMs.p50 / appendMs.p50 },
    ],
    rounds,
  };
}

function toSessions({ delivery, refs }: RepriseTarget): ReaderSpec[] {
  const { port, headers } = delivery;
  const apiKey = headers["authorization"]!.replace("Bearer ", "");
  return refs.map(({ generation }) => ({ transport: "socket", port, apiKey, generation }));
}

/** One load of two clients, each a process; the second one's figures are kept. */
function beside(own: LoadClient, other: LoadClient, specs: readonly ReaderSpec[]) {
  let kept: Measured | undefined;
  return {
    ...own,
    async connect(order) {
      await Promise.all([own.connect(order), other.connect({ specs, copies: 1 })]);
    },
    async measureFrom(order) {
      await Promise.all([own.measureFrom(order), other.measureFrom(order)]);
    },
    async collect(order) {
      const [measured, besides] = await Promise.all([own.collect(order), other.collect(order)]);
      kept = besides;
      return measured;
    },
    async disconnect() {
      await Promise.all([own.disconnect(), other.disconnect()]);
    },
    /** The figures of the second client. */
    besides: () => kept!,
  } satisfies LoadClient & { besides: () => Measured };
}

async function measureEcho({ settings, quick }: RunContext): Promise<EchoMeasured> {
  await using platform = await startPlatform(settings);
  const { url, apiKey, tenant, broker } = platform;
  const script = new URL("../load/echo-client.ts", import.meta.url);
  const env = { REPRISE_NATS_URL: broker.urlFor("inference-worker") };
  await using client = await startChild({ name: "echo client", script, env });
  const order: EchoOrder = {
    port: Number(new URL(url).port),
    apiKey,
    tenant,
    shards: SHARDS,
    calls: quick ? 40 : 200,
    gapMs: GAP_MS,
  };
  return await client.call<EchoMeasured>("measure", order);
}
