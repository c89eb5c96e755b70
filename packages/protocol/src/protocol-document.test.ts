import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { BLOB_LIMITS } from "./blob/blob-limits.ts";
import { CONVERSATION_LIMITS } from "./conversation/conversation-request.ts";
import { CAPABILITIES } from "./engine/capability.ts";
import { ERROR_CATALOGUE, type ErrorCode } from "./errors/error-code.ts";
import { eventSchema } from "./event/event.ts";
import { TAKEOVER_REASONS } from "./event/shapes/attempt.ts";
import { FINISH_REASONS } from "./event/shapes/end.ts";
import { toHttpStatus } from "./errors/http-status.ts";
import {
  MODERATION_LIMITS,
  INPUT_MODES,
  MODERATION_MODES,
  moderationSchema,
  tightenModeration,
} from "./request/moderation-policy.ts";
import { deliveredRecordSchema, opsRecordSchema } from "./log/ops-record.ts";
import { DEFAULT_POLICY, effectivePolicySchema } from "./request/policy.ts";
import { LIMITS } from "./request/fields/limits.ts";
import { generationRequestSchema } from "./request/request.ts";
import { DEFAULT_TIMEOUTS } from "./request/timeouts.ts";
import { fold, started } from "./event/transcript.fixture.ts";

const ROOT = new URL("../../../", import.meta.url);
const ANNEXES = readdirSync(new URL("docs/protocol/", ROOT)).map((name) => `docs/protocol/${name}`);
const DOCUMENT = ["PROTOCOL.md", ...ANNEXES]
  .map((path) => readFileSync(new URL(path, ROOT), "utf8"))
  .join("\n");

/* Each comparison is of whole tables, so a row that either side lacks fails it. */
describe("PROTOCOL.md with its annexes", () => {
  it("lists every error with its status, whether it is retryable and what it means, and no other", () => {
    const catalogue = Object.entries(ERROR_CATALOGUE).map(([code, { retryable }]) => [
      code,
      { status: toHttpStatus(code as ErrorCode), retryable },
    ]);
    const documented = tableUnder("| code | status | retryable | meaning |").flatMap(
      ([codes, status, retryable]) =>
        codes!.split(", ").map((code) => [code, { status: Number(status), retryable: retryable === "yes" }]),
    );
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(catalogue));
  });

  it("lists every type of event with all its fields, and no other", () => {
    const known = eventSchema.options.map(({ shape }) => {
      const { seq: _seq, type, ...fields } = shape;
      return [type.value, fieldNames(fields)];
    });
    const documented = tableUnder("| type | fields | meaning |").map(([type, fields]) => [
      type,
      fields!.split(", ").toSorted(),
    ]);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(known));
  });

  it("lists every limit with its value, and no other", () => {
    const documented = tableUnder("| limit | value | of what |").flatMap(toLimits);
    expect(Object.fromEntries(documented)).toEqual(LIMITS);
  });

  it("lists every field of a request and whether it is required, and no other", () => {
    const documented = tableUnder("| field | required | meaning |").flatMap(([names, required]) =>
      names!.split(", ").map((name) => (required === "yes" ? name : `${name}?`)),
    );
    expect(new Set(documented)).toEqual(new Set(fieldNames(generationRequestSchema.shape)));
  });

  it("lists every capability, and no other", () => {
    const documented = tableUnder("| capability | needed by |").flatMap(([names]) => names!.split(", "));
    expect(documented).toEqual([...CAPABILITIES]);
  });

  it("lists every field of a policy with its default, and no other", () => {
    const { timeouts: _, ...fields } = effectivePolicySchema.shape;
    const defaults = { ...DEFAULT_POLICY, pace: "none", delivery: "0 ms", moderation: "off" };
    const known = Object.keys(fields).map((name) => [name, String(defaults[name as keyof typeof fields])]);
    const timeouts = Object.entries(DEFAULT_TIMEOUTS).map(([name, { after_ms, answer }]) => [
      `timeouts.${name}`,
      `${after_ms} ms, ${answer}`,
    ]);
    const documented = tableUnder("| field | default | meaning |").map(toDefault);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries([...known, ...timeouts]));
    expect(DEFAULT_POLICY.delivery).toEqual({ min_interval_ms: 0 });
  });

  it("lists every mode of moderation, and no other", () => {
    const head = "| mode | what readers see | what follows when a rule matches |";
    expect(tableUnder(head).map(([mode]) => mode)).toEqual([...MODERATION_MODES]);
  });

  it("lists every field of moderation with its default, and no other", () => {
    const documented = Object.fromEntries(
      tableUnder("| field of moderation | default | meaning |").map(toDefault),
    );
    const defaults = tightenModeration({ mode: "retract" })!;
    const { replacement, review, on_unavailable: unavailable } = defaults;
    const { on_unavailable: shut, media } = tightenModeration({ mode: "gate" })!;
    const closed = tightenModeration({ mode: "retract", on_unavailable: { answer: "fail_closed" } })!;
    const leads = [closed, defaults].map(({ max_lead_characters: most = "none" }) => String(most));
    expect(documented).toEqual({
      mode: "off",
      rules: "none",
      replacement,
      max_lead_characters: leads.join(" for fail_closed, else "),
      "on_unavailable.answer": `${shut.answer} for gate, else ${unavailable.answer}`,
      "on_unavailable.after_ms": `${unavailable.after_ms}`,
      "review.answer": review.answer,
      "review.after_ms": `${review.after_ms}`,
      media: `${media} for gate, else ${defaults.media}`,
      input: INPUT_MODES[0],
    });
    const names = Object.keys(documented).map((name) => name.split(".")[0]);
    expect(new Set(names)).toEqual(new Set(Object.keys(moderationSchema.shape)));
  });

  it("lists every limit of moderation with its value, and no other", () => {
    const documented = tableUnder("| moderation limit | value | of what |").flatMap(toLimits);
    expect(Object.fromEntries(documented)).toEqual(MODERATION_LIMITS);
  });

  it("lists every limit of conversations with its value, and no other", () => {
    const documented = tableUnder("| limit of conversations | value | of what |").flatMap(toLimits);
    expect(Object.fromEntries(documented)).toEqual(CONVERSATION_LIMITS);
  });

  it("lists every limit of blobs with its value, and no other", () => {
    const documented = tableUnder("| limit of blobs | value | of what |").flatMap(toLimits);
    expect(Object.fromEntries(documented)).toEqual(BLOB_LIMITS);
  });

  it("lists every reason of a further attempt and whether it counts, and no other", () => {
    const known = TAKEOVER_REASONS.map((reason) => {
      const { countedAttempts } = fold(started(1), started(2, { reason }));
      return [reason, countedAttempts === 2 ? "yes" : "no"];
    });
    const documented = tableUnder("| reason | what became of it | counts |").map(([reason, , counts]) => [
      reason,
      counts,
    ]);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(known));
  });

  it("lists every field of a reader's mark, and no other", () => {
    const documented = tableUnder("| field of a mark | meaning |").flatMap(([names]) => names!.split(", "));
    const { readers } = deliveredRecordSchema.shape;
    expect(documented.toSorted()).toEqual(fieldNames(readers.element.shape));
  });

  it("lists every kind of record of OPS with its fields, and no other", () => {
    const documented = tableUnder("| kind of record | holds |").map(([kind, holds]) => [
      kind,
      holds!.split(":")[0]!.split(", ").toSorted(),
    ]);
    const known = opsRecordSchema.options.map(({ shape }) => {
      const { kind, ...fields } = shape;
      return [kind.value, fieldNames(fields)];
    });
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(known));
  });

  it("lists every finish reason, and no other", () => {
    const [, list] = /`finish_reason` is\s+one\s+of ([^.]*)\./.exec(DOCUMENT) ?? [];
    expect(list?.split(",").map((reason) => unquote(reason.trim()))).toEqual([...FINISH_REASONS]);
  });

  it("gives each requirement a number of its own, and each of a server a MUST", () => {
    const requirements = [...DOCUMENT.matchAll(/\*\*([MC]-\d+)\*\* ((?:(?!\*\*[MC]-).)*)/g)];
    const ids = requirements.map(([, id]) => id!);
    expect(new Set(ids).size).toBe(ids.length);
    const weak = requirements.filter(([, id, text]) => id!.startsWith("M") && !/\bMUST\b/.test(text!));
    expect(weak.map(([, id]) => id)).toEqual([]);
  });

  it("refers only to sections that it has", () => {
    const sections = new Set(
      [...DOCUMENT.matchAll(/^(?:#+ )?(\d+(?:\.\d+)*)\.? /gm)].map(([, number]) => number),
    );
    const references = [...DOCUMENT.matchAll(/§(\d+(?:\.\d+)*)/g)].map(([, number]) => number);
    expect(references.filter((number) => !sections.has(number))).toEqual([]);
  });
});

function toLimits([names, value]: string[]): [name: string, value: number][] {
  return names!.split(", ").map((name) => [name, Number(value!.replaceAll(",", ""))]);
}

function toDefault([name, value]: string[]): [name: string, value: string] {
  return [name!, value!.replaceAll(/(?<=\d),(?=\d)/g, "")];
}

/** The cells of the table with this head, row by row, without their backticks. */
function tableUnder(head: string): string[][] {
  const [, rest] = DOCUMENT.split(`${head}\n`);
  const [, ...rows] = rest!.split("\n\n", 1)[0]!.trimEnd().split("\n");
  return rows.map((row) => row.slice(2, -2).split(" | ").map(unquote));
}

function unquote(cell: string): string {
  return cell.replaceAll("`", "");
}

/** Names as the document writes them: with a question mark where the field may be absent. */
function fieldNames(shape: Record<string, { safeParse(value: undefined): { success: boolean } }>): string[] {
  return Object.entries(shape)
    .map(([name, schema]) => (schema.safeParse(undefined).success ? `${name}?` : name))
    .toSorted();
}
