import { type Appender, createGenerationLog } from "@reprise/stream";
import { createRuleSetStore } from "@reprise/moderation";
import { type EffectiveModeration, parseTenantId, tightenModeration } from "@reprise/protocol";
import { serveProducer } from "../serve-producer.ts";
import { type ModerationText, type ModerationUse, RULES, TOKEN_OF } from "./moderation-load.ts";
import { connectBenchWorker } from "./connect-worker.ts";
import { openGeneration } from "./open-generation.ts";

/** The worker's part, as in `worker.ts`, with plain text in place of stamps, and with delivery's part of a policy: its rules are kept. */
const [tenantId, shards, use, text] = process.argv.slice(2) as [
  string,
  string,
  ModerationUse,
  ModerationText,
];
const RETENTION_MS = 3_600_000;
const tenant = parseTenantId(tenantId);
const broker = await connectBenchWorker("bench-worker");
const log = createGenerationLog(broker);
const ruleSets = createRuleSetStore(log.publish, RETENTION_MS);
const appenders = new Map<string, Appender>();
const produced: number[] = [];
const moderation = await prepareModeration();

/** Where another tenant has rules, moderation reads every log; where none has, it reads nothing. */
async function prepareModeration(): Promise<EffectiveModeration | undefined> {
  if (use === "off") return undefined;
  if (use === "idle") await ruleSets.keep(parseTenantId("other"), RULES);
  const open = tightenModeration({ mode: use === "idle" ? "off" : use, rules: [...RULES] });
  if (!open) return undefined;
  const { rules, ...effective } = open;
  return { ...effective, rule_set: await ruleSets.keep(tenant, rules) };
}

serveProducer(
  {
    async open() {
      const { id, appender } = await openGeneration({
        broker,
        log,
        tenant,
        shards: Number(shards),
        moderation,
      });
      appenders.set(id, appender);
      return id;
    },
    append: (id, token) => appenders.get(id)!.append({ type: "output.delta", text: token }),
    async stored(id) {
      const appender = appenders.get(id)!;
      // What a gate holds of the last token is released by a blank line, which counts as no token.
      appender.append({ type: "output.delta", text: "\n\n", tokens: 0 });
      const state = await appender.settled();
      if (state.kind !== "open") throw new Error(`The log could not be written: ${state.kind}.`);
    },
  },
  {},
  (_dueMicros, stream) => {
    const index = produced[stream] ?? 0;
    produced[stream] = index + 1;
    return TOKEN_OF[text](stream, index);
  },
);
