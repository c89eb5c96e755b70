import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { EVENT_EXAMPLES } from "./event.fixture.ts";
import { eventSchema } from "./event.ts";
import { channelOf, hasText, isDelta, textFieldsOf, textOf, withdrawnForm } from "./text-table.ts";

const DOCUMENT = readFileSync(new URL("../../../../docs/protocol/moderation.md", import.meta.url), "utf8");

/** Entries of §12.8 for each field that readers see: how it is judged, or `no` and the reason. */
const documented = (() => {
  const [, rest] = DOCUMENT.split("| event | fields | judged | why |\n");
  const [, ...rows] = rest!.split("\n\n", 1)[0]!.trimEnd().split("\n");
  return rows.flatMap((row) => {
    const [event = "", fields = "", judged = "", why = ""] = row.slice(2, -2).split(" | ");
    return fields.split(", ").map((field) => ({ field: unquote(`${event}.${field}`), judged, why }));
  });
})();

function unquote(text: string): string {
  return text.replaceAll("`", "");
}

/** The fields of a schema that may hold any text, however deep. */
function textFields(schema: z.ZodType, path: string): string[] {
  const { def } = schema as unknown as { def: { type: string; innerType?: z.ZodType; element?: z.ZodType } };
  if (def.innerType) return textFields(def.innerType, path);
  if (def.element) return textFields(def.element, path);
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, field]) =>
      textFields(field as z.ZodType, path === "" ? name : `${path}.${name}`),
    );
  return ["number", "int", "boolean", "literal", "enum"].includes(def.type) ? [] : [path];
}

/** Fields of every event that readers see. */
const fields = eventSchema.options.flatMap((option) => {
  const type = option.shape.type.value;
  return type === "generation.requested" ? [] : textFields(option, "").map((field) => `${type}.${field}`);
});

test("the protocol says of every field of every event that may hold text whether it is judged", () => {
  expect(documented.map(({ field }) => field).toSorted()).toEqual(fields.toSorted());
});

test("a field is judged exactly where the document says so, and what is not has a reason there", () => {
  for (const { field, judged, why } of documented) {
    const at = eventSchema.options
      .map((option) => option.shape.type.value)
      .find((type) => field.startsWith(`${type}.`));
    expect([field, textFieldsOf(at ?? "").includes(field.slice(`${at}.`.length))]).toEqual([
      field,
      judged !== "no",
    ]);
    expect([field, judged !== "no" || why !== ""]).toEqual([field, true]);
  }
});

test("every text that is judged has a channel, and is replaced where that is withdrawn", () => {
  for (const event of EVENT_EXAMPLES) {
    const names = new Set<string>();
    const shown = withdrawnForm(event, (channel) => {
      names.add(channel);
      return "R";
    });
    const texts = textFieldsOf(event.type).map(
      (name) => (shown as Record<string, unknown> | undefined)?.[name],
    );
    const canBeWithdrawn = hasText(event.type) || event.type === "reasoning.sealed";
    expect([event.type, shown?.redacted ?? false]).toEqual([event.type, canBeWithdrawn]);
    expect(texts.filter((text) => text !== "R" && text !== undefined)).toEqual([]);
    expect(names.has(channelOf(event) ?? "none")).toBe(hasText(event.type));
    expect(textOf(event) !== "").toBe(hasText(event.type));
    expect(withdrawnForm(event, () => undefined)).toBeUndefined();
  }
});

test("a field that a later version has added is not shown of an event that was withdrawn", () => {
  for (const event of EVENT_EXAMPLES) {
    const later = { ...event, alternatives: [{ token: "secret" }], spoken: "secret" };
    expect(JSON.stringify(withdrawnForm(later, () => "R") ?? {})).not.toContain("secret");
  }
});

test("those that continue are asked for by type alone", () => {
  const deltas = EVENT_EXAMPLES.filter((event) => isDelta(event)).map(({ type }) => type);
  expect(deltas).toEqual(
    EVENT_EXAMPLES.filter(({ type }) => type.endsWith(".delta")).map(({ type }) => type),
  );
});
