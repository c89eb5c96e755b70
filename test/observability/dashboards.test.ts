import { describe, expect, test } from "vitest";
import { DASHBOARDS } from "./testing/dashboards.ts";

describe.each(Object.entries(DASHBOARDS))("the dashboard %s", (_, dashboard) => {
  const { panels, templating } = dashboard;

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
