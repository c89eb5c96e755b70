import { createRuleSetStore } from "@reprise/moderation";
import {
  type EffectiveModeration,
  type GenerationId,
  parseGenerationId,
  parseTenantId,
  queuedJobs,
  tightenModeration,
} from "@reprise/protocol";
import { type Appender, AppendPressure, createGenerationLog } from "@reprise/stream";
import { serveProducer, type Sink } from "../serve-producer.ts";
import { type ModerationText, type ModerationUse, RULES, TOKEN_OF } from "./moderation-load.ts";
import { connectBenchWorker, openGeneration } from "./open-generation.ts";

/*
 * The worker's part, with the bench's schedule in place of an engine: latency begins where a worker has a token. With moderation it appends
 * plain text in place of stamps, and plays delivery's part of a policy: it stores the rules.
 */
const [tenantId, shards, use, text] = process.argv.slice(2) as [
  string,
  string,
  ModerationUse | undefined,
  ModerationText | undefined,
];
const RETENTION_MS = 3_600_000;
const tenant = parseTenantId(tenantId);
const broker = await connectBenchWorker("bench-worker");
const log = createGenerationLog(broker);
const chunking = new AppendPressure();
const ruleSets = createRuleSetStore(log.publish, RETENTION_MS);
const appenders = new Map<string, Appender>();
const moderation = use && (await prepareModeration(use));

/** If another tenant has rules, moderation reads every log; without any, it reads nothing. */
async function prepareModeration(mode: ModerationUse): Promise<EffectiveModeration | undefined> {
  if (mode === "off") return undefined;
  if (mode === "idle") await ruleSets.keep(parseTenantId("other"), RULES);
  const open = tightenModeration({ mode: mode === "idle" ? "off" : mode, rules: [...RULES] });
  if (!open) return undefined;
  const { rules, ...effective } = open;
  return { ...effective, rule_set: await ruleSets.keep(tenant, rules) };
}

async function begin(created?: GenerationId): Promise<GenerationId> {
  const generation = { broker, log, tenant, shards: Number(shards), moderation, chunking, created };
  const { id, appender } = await openGeneration(generation);
  appenders.set(id, appender);
  return id;
}

const sink: Sink = {
  open: () => begin(),
  append: (id, token) => appenders.get(id)!.append({ type: "output.delta", text: token }),
  async stored(id) {
    const appender = appenders.get(id)!;
    // A blank line, which counts as no token, releases the last word that a gate holds.
    if (text) appender.append({ type: "output.delta", text: "\n\n", tokens: 0 });
    const state = await appender.settled();
    if (state.kind !== "open") throw new Error(`The log could not be written: ${state.kind}.`);
  },
};

/** Begins generations that readers create, as soon as they are queued. */
async function adoptCreated(): Promise<void> {
  broker.main.subscribe(queuedJobs("sim"), {
    callback: (error, { subject }) => {
      if (error) throw error;
      void adopt(parseGenerationId(subject.split(".")[3]!));
    },
  });
  await broker.main.flush();
}

/** Most protocols give their head with the first content, so there is some before the schedule begins. */
async function adopt(created: GenerationId): Promise<void> {
  await begin(created);
  sink.append(created, "\n\n");
  await sink.stored(created);
  addStream(created);
}

const produced: number[] = [];
const addStream = serveProducer(
  sink,
  { adoptCreated },
  text &&
    ((_dueMicros, stream) => {
      const index = produced[stream] ?? 0;
      produced[stream] = index + 1;
      return TOKEN_OF[text](stream, index);
    }),
);
