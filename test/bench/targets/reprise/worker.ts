import { randomBytes, randomUUID } from "node:crypto";
import { Appender, connectBroker, createCheckpointer, createGenerationLog } from "@reprise/log";
import {
  createGenerationId,
  DEFAULT_POLICY,
  encodeEvent,
  type GenerationRef,
  isTerminal,
  liveSubject,
  logSubject,
  parseTenantId,
  parseWorkerId,
  peekSeq,
} from "@reprise/protocol";
import { serveProducer } from "../serve-producer.ts";

/*
 * The worker's part: the appender, checkpoints and the subscription to its own log, exactly as a run of the inference-worker
 * sets them up, with the bench's schedule in place of an engine. So what is measured begins where a worker has a token.
 */

const [natsUrl, tenantId, shards] = process.argv.slice(2) as [string, string, string];
const tenant = parseTenantId(tenantId);
const worker = parseWorkerId("worker-bench");
const broker = await connectBroker({ url: natsUrl, name: "bench-worker" });
const fail = (error: unknown) => console.error(error);
const log = createGenerationLog(broker, fail);
const appenders = new Map<string, Appender>();

async function open(): Promise<string> {
  const ref: GenerationRef = { tenant, generation: createGenerationId(randomBytes(17), Number(shards)) };
  const requested = encodeEvent(0, {
    type: "generation.requested",
    tenant,
    generation: ref.generation,
    created_at: new Date().toISOString(),
    request: { model: "sim", input: "bench" },
    policy: DEFAULT_POLICY,
  });
  const first = await log.publish(logSubject(ref), requested, { expectedLast: 0, writer: randomUUID() });
  if (first.kind !== "stored") throw new Error(`The first event was not stored: ${first.kind}.`);
  const snapshot = { events: [requested], streamSeq: first.streamSeq };
  const maxBytes = log.maxCheckpointBytes;
  const checkpointer = createCheckpointer({ publish: log.publish, ref, snapshot, maxBytes, now: Date.now() });
  const appender = new Appender({
    ...log,
    ref,
    head: { seq: 0, streamSeq: first.streamSeq },
    writer: randomUUID(),
    onStored: ({ payload, streamSeq }) => checkpointer.add(payload, streamSeq, Date.now()),
    isFence: ({ type }) => isTerminal(type),
    onEnd: fail,
  });
  broker.main.subscribe(liveSubject(ref), {
    callback: (error, message) => (error ? fail(error) : appender.observe(peekSeq(message.data))),
  });
  appender.append({ type: "generation.started", attempt: 1, worker, model: "sim" });
  await appender.settled();
  appenders.set(ref.generation, appender);
  return ref.generation;
}

serveProducer({
  open,
  append: (id, text) => appenders.get(id)!.append({ type: "output.delta", text }),
  async stored(id) {
    const state = await appenders.get(id)!.settled();
    if (state.kind !== "open") throw new Error(`The log could not be written: ${state.kind}.`);
  },
});
