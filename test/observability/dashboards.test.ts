import { describe, expect, test } from "vitest";
import * as z from "zod";
import { DASHBOARDS } from "./testing/dashboards.ts";

/** Units of Grafana that the dashboards use. */
const UNITS = ["s", "ms", "percentunit", "bytes", "ops", "short", "none"] as const;

const place = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1),
});
const refId = z.string().regex(/^[A-Z]$/);
const prometheusTarget = z.strictObject({ refId, expr: z.string().min(1), legendFormat: z.string().min(1) });
const column = z.strictObject({
  selector: z.string().min(1),
  text: z.string().min(1),
  type: z.enum(["number", "string", "timestamp"]),
});
const apiTarget = z.strictObject({
  refId,
  type: z.literal("json"),
  source: z.literal("url"),
  parser: z.literal("backend"),
  format: z.enum(["table", "timeseries"]),
  url: z.string().regex(/^\/v1\/(analytics\/[a-z]+|usage)\?/),
  url_options: z.strictObject({ method: z.literal("GET") }),
  root_selector: z.string().min(1),
  columns: z.array(column).min(1),
});
const traceTarget = z.strictObject({
  refId,
  queryType: z.literal("traceql"),
  query: z.string().min(1),
  tableType: z.literal("traces").optional(),
  limit: z.int().optional(),
});
const fieldConfig = z.strictObject({
  defaults: z.strictObject({
    unit: z.enum(UNITS),
    min: z.number(),
    thresholds: z.strictObject({
      mode: z.literal("absolute"),
      steps: z.array(z.strictObject({ color: z.string(), value: z.number().nullable() })).min(1),
    }),
  }),
  overrides: z.array(
    z.strictObject({
      matcher: z.strictObject({ id: z.literal("byName"), options: z.string() }),
      properties: z.array(z.strictObject({ id: z.enum(["unit", "links"]), value: z.unknown() })).min(1),
    }),
  ),
});
const head = {
  id: z.int().min(1),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos: place,
};
const chart = <T extends z.ZodType>(datasource: string, uid: string, target: T) =>
  z.strictObject({
    ...head,
    type: z.enum(["timeseries", "stat", "table", "traces"]),
    datasource: z.strictObject({ type: z.literal(datasource), uid: z.literal(uid) }),
    targets: z.array(target).min(1),
    fieldConfig,
    options: z.looseObject({}).optional(),
  });
const panel = z.union([
  z.strictObject({ ...head, type: z.literal("row") }),
  z.strictObject({
    ...head,
    type: z.literal("text"),
    options: z.strictObject({ mode: z.literal("markdown"), content: z.string().min(1) }),
  }),
  chart("prometheus", "${datasource}", prometheusTarget),
  chart("yesoreyeram-infinity-datasource", "${api}", apiTarget),
  chart("tempo", "${tempo}", traceTarget),
]);
const dashboardSchema = z.strictObject({
  uid: z.string().regex(/^[a-z0-9-]{1,40}$/),
  title: z.string().min(1),
  description: z.string().min(1),
  tags: z.tuple([z.literal("reprise")]),
  schemaVersion: z.literal(39),
  refresh: z.string(),
  time: z.strictObject({ from: z.string().regex(/^now-\d+[hdm]$/), to: z.literal("now") }),
  templating: z.strictObject({
    list: z.array(
      z.strictObject({
        name: z.string(),
        label: z.string(),
        type: z.enum(["datasource", "textbox", "custom"]),
        query: z.string(),
        current: z.strictObject({ text: z.string(), value: z.string() }).optional(),
      }),
    ),
  }),
  links: z.array(z.looseObject({ title: z.string() })),
  panels: z.array(panel).min(1),
});

describe.each(Object.entries(DASHBOARDS))("the dashboard %s", (_, dashboard) => {
  const { panels, templating } = dashboard;

  test("matches Grafana's schema, with a unit for each panel", () => {
    expect(dashboardSchema.safeParse(dashboard).error).toBeUndefined();
  });

  test("has each panel's id, and in a panel each query's, once", () => {
    const ids = panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { targets = [] } of panels)
      expect(new Set(targets.map((target) => target.refId)).size).toBe(targets.length);
  });

  test("has no panel on another, nor over the edge", () => {
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_cell, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(panels.every(({ gridPos }) => gridPos.x + gridPos.w <= 24)).toBe(true);
  });

  test("asks the API no more at once than it lets one tenant wait for", () => {
    const asked = panels
      .flatMap(({ targets = [] }) => targets)
      .filter(({ columns }) => columns !== undefined);
    expect(asked.length).toBeLessThanOrEqual(9);
  });

  test("names only variables that it declares", () => {
    const known = templating.list.map(({ name }) => name);
    const named = [...JSON.stringify(panels).matchAll(/\$\{([a-z]+)(?::[a-z]+)?\}/g)].map(([, name]) => name);
    expect(named.filter((name) => name === undefined || !known.includes(name))).toEqual([]);
  });

  test("overrides only columns that its panel has", () => {
    for (const { targets = [], fieldConfig: config } of panels) {
      const columns = targets.flatMap((target) => target.columns ?? []);
      const names = columns.map(({ text }) => text);
      for (const { matcher } of config?.overrides ?? []) expect(names).toContain(matcher.options);
    }
  });
});

test("each dashboard has an id and a title of its own", () => {
  const all = Object.values(DASHBOARDS);
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(all.length);
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
});
