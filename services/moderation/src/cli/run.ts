import { readFile } from "node:fs/promises";
import { announceLateEvent, createRuleSetStore, assertRules, compileRuleSet } from "@reprise/moderation";
import { type Broker } from "@reprise/broker";
import { createGenerationLog, listGenerations } from "@reprise/stream";
import {
  type GenerationId,
  type GenerationRef,
  moderationRuleSchema,
  parseWith,
  RepriseError,
  ruleSetId,
  type Seq,
  type TenantId,
} from "@reprise/protocol";
import { checkCoverage } from "./check-coverage.ts";
import { rejudgeLog } from "./rejudge-log.ts";

interface Scope {
  readonly tenant: TenantId;
  /** Undefined: all that are kept. */
  readonly generation: GenerationId | undefined;
}

export type CliOptions =
  | ({ readonly command: "coverage" } & Scope)
  | ({ readonly command: "rejudge"; readonly rulesFile: string; readonly apply: boolean } & Scope);

interface Surroundings {
  readonly broker: Broker;
  readonly shards: number;
  readonly retentionMs: number;
  readonly print: (line: string) => void;
}

/**
 * @returns whether every event was judged
 * @throws RepriseError `invalid_request` for rules that are wrong, `broker_unavailable`, `generation_not_found`
 */
export async function runCli(
  options: CliOptions,
  { broker, shards, retentionMs, print }: Surroundings,
): Promise<boolean> {
  const log = createGenerationLog(broker);
  const { tenant, generation } = options;
  const refs: Iterable<GenerationRef> | AsyncIterable<GenerationRef> =
    generation === undefined ? listGenerations(broker.main, tenant, shards) : [{ tenant, generation }];
  let count = 0;
  let missing = 0;
  if (options.command === "coverage") {
    for await (const ref of refs) {
      const whole = await checkCoverage(log, ref, print);
      if (whole !== undefined) count++;
      if (whole === false) missing++;
    }
    print(`${count} moderated generations, ${missing} of them with unjudged events`);
    return missing === 0;
  }
  const { rulesFile, apply } = options;
  const rules = await readRules(rulesFile);
  const ruleSet = compileRuleSet(await ruleSetId(rules), rules);
  if (apply) await createRuleSetStore(log.publish, retentionMs).keep(tenant, rules);
  let decided = 0;
  for await (const ref of refs) {
    const { findingCount, decisions } = await rejudgeLog(log, ref, {
      ruleSet,
      apply: apply ? (of, seq) => announceLateEvent(broker.main, of, seq) : undefined,
    });
    count++;
    decided += decisions.length;
    if (findingCount > 0) print(`${ref.generation}: ${findingCount} found, ${decisions.length} to decide`);
    for (const draft of decisions) print(`  ${describe(draft)}`);
  }
  print(
    `${count} generations judged by ${ruleSet.id}; ${decided} decisions ${apply ? "appended" : "not appended (--apply)"}`,
  );
  await broker.main.flush();
  return true;
}

/** Never prints the text, nor its replacement, which quotes the text around it. */
function describe(draft: {
  type: string;
  rule?: string;
  from_seq?: Seq | undefined;
  to_seq?: Seq | undefined;
}): string {
  const { type, rule, from_seq: from, to_seq: to } = draft;
  return `${type} by ${rule}, events ${from}${to === undefined ? " on" : ` to ${to}`}`;
}

async function readRules(path: string) {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new RepriseError("invalid_request", `${path} can't be read as JSON.`, { cause, param: "rules" });
  }
  const rules = parseWith(moderationRuleSchema.array().min(1), json, "rules");
  assertRules(rules, "rules");
  return rules;
}
