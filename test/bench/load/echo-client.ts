import { setTimeout as delay } from "node:timers/promises";
import { createGenerationLog } from "@reprise/stream";
import { parseTenantId } from "@reprise/protocol";
import { serveParent } from "../children/serve-parent.ts";
import { type Samples, summarize } from "../measure/samples.ts";
import { connectBenchWorker, openGeneration } from "../targets/reprise/open-generation.ts";
import { DuplexSocket } from "./duplex-socket.ts";

export interface EchoOrder {
  port: number;
  apiKey: string;
  tenant: string;
  shards: number;
  /** Words that count. */
  calls: number;
  /** Between two of them. */
  gapMs: number;
}

export interface EchoMeasured {
  /** A worker's append of an event, until it is acknowledged. */
  readonly appendMs: Samples;
  /** A word that is sent as input over a WebSocket, until its echo comes back over it. */
  readonly echoMs: Samples;
}

const WARM_UP_CALLS = 20;
const CREATE = { model: "sim", input: { stream: { format: "text" } } };

/** Appends and echoes in turn, each alone. */
async function measure({ port, apiKey, tenant, shards, calls, gapMs }: EchoOrder): Promise<EchoMeasured> {
  const broker = await connectBenchWorker("bench-echo");
  const log = createGenerationLog(broker);
  const { appender } = await openGeneration({ broker, log, tenant: parseTenantId(tenant), shards });
  using socket = await DuplexSocket.open(port, apiKey, () => undefined);
  let echoed = Promise.withResolvers<void>();
  const generation = await socket.stream({ op: "create", request: CREATE, follow: true }, (_frame, json) => {
    if (json.includes('"type":"output.delta"')) echoed.resolve();
  });
  const [appends, echoes]: [number[], number[]] = [[], []];
  for (let call = -WARM_UP_CALLS; call < calls; call++) {
    const append = await timed(async () => {
      appender.append({ type: "output.delta", text: `word-${call} ` });
      await appender.settled();
    });
    await delay(gapMs);
    echoed = Promise.withResolvers();
    const entries = [{ type: "input.delta", text: `word-${call} ` }];
    const first = call + WARM_UP_CALLS + 1;
    let stored: Promise<void> | undefined;
    const echo = await timed(() => {
      stored = socket.call({ op: "input", generation, first, entries });
      stored.catch(echoed.reject);
      return echoed.promise;
    });
    await Promise.all([stored, delay(gapMs)]);
    if (call < 0) continue;
    appends.push(append);
    echoes.push(echo);
  }
  await broker.close();
  return { appendMs: summarize(appends), echoMs: summarize(echoes) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

serveParent({ measure });
