import type { CommandIo } from "@reprise/runtime";
import type { Command } from "commander";
import * as z from "zod";
import { openApi } from "../admin-api.ts";
import { type AddCommands, type JsonOption, writeJson, writeLine } from "../command.ts";
import { formatTable } from "../format-table.ts";

const ms = z.number().nullable();
const completeUntil = z.string().nullish();
const budgetSchema = z.looseObject({
  complete_until: completeUntil,
  class: z.string(),
  generations: z.int(),
  /** A service of before says nothing of it: its targets are about the first output. */
  tokens: z.int().default(1),
  without_output: z.int().default(0),
  targets: z.array(
    z.object({ quantile: z.number(), target_ms: z.number(), measured_ms: ms, met: z.boolean().nullable() }),
  ),
  terms: z.array(
    z.object({
      term: z.string(),
      allotted_ms: z.number(),
      measured: z.int(),
      p50_ms: ms,
      p95_ms: ms,
      over_ms: ms,
      blamed: z.int(),
    }),
  ),
  decode_ms_per_token: z.object({ p50: z.number(), p95: z.number() }).nullish(),
  breaks: z.string().nullable(),
});
const usageSchema = z.looseObject({
  complete_until: completeUntil,
  data: z.array(
    z.looseObject({
      key: z.record(z.string(), z.string()),
      generations: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      output_tokens_kept: z.int(),
      cost: z.record(z.string(), z.string()),
      incomplete: z.int().default(0),
    }),
  ),
  next: z.string().optional(),
});

interface QueryValues extends JsonOption {
  readonly tenant?: string;
  readonly from?: string;
  readonly to?: string;
  readonly model?: string;
}

interface BudgetValues extends QueryValues {
  readonly class?: string;
  readonly targetMs?: string;
  readonly quantile?: string;
  readonly tokens?: string;
}

interface UsageValues extends QueryValues {
  readonly by?: string;
  readonly all?: true;
}

export const addAnalyticsCommands: AddCommands = (program, io) => {
  const analytics = program.command("analytics").description("asks analytics");
  withQuery(
    analytics
      .command("budget")
      .description("shows where the time to the first tokens went, against a class of applications")
      .option("--class <class>", "chat-responsive, chat-instant, voice or captions")
      .option("--target-ms <n>", "an own target in place of a class, of 95 in 100 or as --quantile says")
      .option("--quantile <q>", "of --target-ms")
      .option("--tokens <n>", "up to which output token, 1 to 1000; default: the class's, or 1"),
  ).action((values: BudgetValues) => showBudget(values, io));
  withQuery(
    analytics
      .command("usage")
      .description("shows the tokens that generations have used, and what they cost")
      .option("--by <dimensions>", "such as tenant,model or day or metadata.team: the 50 largest groups")
      .option("--all", "all groups, in the order of their keys"),
  ).action((values: UsageValues) => showUsage(values, io));
};

function withQuery(command: Command): Command {
  return command
    .option("--tenant <tenant>", "of this one: the operator's key asks for all, another key for its own")
    .option("--from <time>", "generations that ended from then on; default: the last 24 hours")
    .option("--to <time>", "and before")
    .option("--model <model>", "that were served by this model")
    .option("--json", "the platform's answer");
}

async function showBudget(
  { json, targetMs: target_ms, ...rest }: BudgetValues,
  io: CommandIo,
): Promise<void> {
  const body = await ask(io, "/analytics/budget", { ...rest, target_ms }, budgetSchema);
  if (json) return writeJson(io.out, body);
  const { without_output: without } = body;
  const left = without > 0 ? `, ${without} of them without output: not counted below` : "";
  const count = `${body.generations} ${body.generations === 1 ? "generation" : "generations"}`;
  writeLine(io.out, `${body.class}, ${count}${left}`);
  const output = body.tokens === 1 ? "the first output" : `the first ${body.tokens} tokens`;
  for (const { quantile, target_ms: at, measured_ms: measured, met } of body.targets) {
    const verdict = met === null ? "nothing was measured" : met ? "met" : "MISSED";
    writeLine(io.out, `p${quantile * 100} of ${output} within ${at} ms: ${toText(measured)} ms, ${verdict}`);
  }
  const rows = body.terms.map(({ term, allotted_ms, measured, p50_ms, p95_ms, over_ms, blamed }) => [
    term,
    toText(allotted_ms),
    ...(measured === 0 ? ["not measured", "", ""] : [toText(p50_ms), toText(p95_ms), toText(over_ms)]),
    `${blamed}`,
  ]);
  const head = ["term", "allotted ms", "p50 ms", "p95 ms", "over ms", "late by it"];
  writeLine(io.out, formatTable([head, ...rows]));
  const { decode_ms_per_token: decode } = body;
  if (decode) {
    const [p50, p95] = [toText(decode.p50), toText(decode.p95)];
    writeLine(io.out, `decode, after the first output: ${p50} ms per token at p50, ${p95} ms at p95`);
  }
  if (body.breaks !== null) writeLine(io.out, `The term that breaks it: ${body.breaks}`);
  writeCompleteness(io, body);
}

async function showUsage({ json, all, ...rest }: UsageValues, io: CommandIo): Promise<void> {
  const body = await askUsage(io, rest, all ?? false);
  if (json) return writeJson(io.out, body);
  const keys = Object.keys(body.data[0]?.key ?? {});
  const rows = body.data.map(({ key, cost, ...sums }) => [
    ...keys.map((name) => key[name] ?? ""),
    `${sums.generations}`,
    `${sums.input_tokens}`,
    `${sums.output_tokens}`,
    `${sums.output_tokens_kept}`,
    Object.entries(cost)
      .map(([currency, amount]) => `${amount} ${currency}`)
      .join(", "),
  ]);
  const head = [...keys, "generations", "input", "output", "kept", "cost"];
  writeLine(io.out, formatTable([head, ...rows]));
  const incomplete = body.data.reduce((sum, group) => sum + group.incomplete, 0);
  if (incomplete > 0)
    writeLine(io.out, `incomplete, as events expired before analytics read them: ${incomplete}`);
  writeCompleteness(io, body);
}

/** Prints until when the report is complete; generations that ended later may be missing. */
function writeCompleteness(
  { out }: CommandIo,
  { complete_until: until }: { readonly complete_until?: string | null | undefined },
): void {
  if (until !== undefined) writeLine(out, `complete until ${until ?? "a time that is not known now"}`);
}

/** @param isAll of every page, as one answer */
async function askUsage(io: CommandIo, params: Params, isAll: boolean): Promise<z.infer<typeof usageSchema>> {
  if (!isAll) return ask(io, "/usage", params, usageSchema);
  const paged = { ...params, order: "key", limit: "200" };
  const { next: more, ...first } = await ask(io, "/usage", paged, usageSchema);
  const data = [...first.data];
  for (let after = more; after !== undefined;) {
    const page = await ask(io, "/usage", { ...paged, after }, usageSchema);
    data.push(...page.data);
    after = page.next;
  }
  return { ...first, data };
}

type Params = Readonly<Record<string, string | undefined>>;

async function ask<T>(io: CommandIo, path: string, params: Params, schema: z.ZodType<T>): Promise<T> {
  const given = Object.entries(params).filter((one): one is [string, string] => one[1] !== undefined);
  const { body } = await openApi(io)(`${path}?${new URLSearchParams(given)}`, { schema });
  return body;
}

function toText(value: number | null): string {
  return value === null ? "" : value.toFixed(1);
}
