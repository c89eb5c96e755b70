import { type Appender, createGenerationLog } from "@reprise/log";
import { parseTenantId } from "@reprise/protocol";
import { serveProducer } from "../serve-producer.ts";
import { connectBenchWorker } from "./connect-worker.ts";
import { openGeneration } from "./open-generation.ts";

/** The worker's part, with the bench's schedule in place of an engine: what is measured begins where a worker has a token. */
const [tenantId, shards] = process.argv.slice(2) as [string, string];
const tenant = parseTenantId(tenantId);
const broker = await connectBenchWorker("bench-worker");
const log = createGenerationLog(broker);
const appenders = new Map<string, Appender>();

serveProducer({
  async open() {
    const { id, appender } = await openGeneration({ broker, log, tenant, shards: Number(shards) });
    appenders.set(id, appender);
    return id;
  },
  append: (id, text) => appenders.get(id)!.append({ type: "output.delta", text }),
  async stored(id) {
    const state = await appenders.get(id)!.settled();
    if (state.kind !== "open") throw new Error(`The log could not be written: ${state.kind}.`);
  },
});
