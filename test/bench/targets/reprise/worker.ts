import { randomUUID } from "node:crypto";
import { type Appender, createGenerationLog } from "@reprise/stream";
import { parseChatRequest } from "@reprise/projections";
import { parseTenantId } from "@reprise/protocol";
import { serveProducer } from "../serve-producer.ts";
import { connectBenchWorker } from "./connect-worker.ts";
import { openGeneration } from "./open-generation.ts";
import { CHAT } from "../protocols.ts";

/** The worker's part, with the bench's schedule in place of an engine: what is measured begins where a worker has a token. */
const [tenantId, shards, protocol] = process.argv.slice(2) as [string, string, string | undefined];
const tenant = parseTenantId(tenantId);
const broker = await connectBenchWorker("bench-worker");
const log = createGenerationLog(broker);
const appenders = new Map<string, Appender>();

serveProducer({
  /** @returns its id; of one that chats join, behind a blank its key */
  async open() {
    const key = protocol === "openai-chat" ? randomUUID() : undefined;
    const created = key === undefined ? undefined : { key, request: parseChatRequest(CHAT).request };
    const { id, appender } = await openGeneration({ broker, log, tenant, shards: Number(shards), created });
    const name = key === undefined ? id : `${id} ${key}`;
    appenders.set(name, appender);
    return name;
  },
  append: (name, text) => appenders.get(name)!.append({ type: "output.delta", text }),
  async stored(name) {
    const state = await appenders.get(name)!.settled();
    if (state.kind !== "open") throw new Error(`The log could not be written: ${state.kind}.`);
  },
});
