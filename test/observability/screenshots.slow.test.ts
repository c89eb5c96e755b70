import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type OtlpReceiver, startOtlpReceiver } from "@reprise/testkit";
import { expect, test } from "vitest";
import { DASHBOARDS } from "../../infra/observability/dashboards/dashboards.ts";
import type { Dashboard, Panel } from "../../infra/observability/dashboards/panels.ts";
import { openPage } from "../e2e/testing/browser.ts";
import { dashboardHashes, DRAWN_FROM } from "./drawing/dashboard-hashes.ts";
import { drawPage, drawTracePage } from "./drawing/draw-page.ts";
import { findData, type Sources } from "./drawing/find-data.ts";
import { hasData, type PanelData } from "./drawing/panel-data.ts";
import { photograph } from "./drawing/photograph.ts";
import { type DrawnSpan, parseSpans } from "./drawing/spans.ts";
import { drive } from "./testing/drive.ts";
import { load } from "./testing/load.ts";
import { startObservedPlatform } from "./testing/observed-platform.ts";
import { startPrometheus } from "./testing/prometheus-server.ts";
import { runTracedGeneration } from "./testing/traced-generation.ts";

/** `npm run screenshots` sets it: pages are drawn from minutes of load then, and put there. */
const FOLDER = process.env["SCREENSHOTS_DIR"] || undefined;
const LOAD_MS = FOLDER === undefined ? 5_000 : 120_000;
/** In a short test an hour of the recording rules is a minute; they are evaluated each second. */
const SCALE = FOLDER === undefined ? 1 / 60 : 1;

const NOTE =
  "Drawn by Reprise's tests, from the queries of the dashboard's code, over a platform of processes under load. This is not Grafana.";

const TRACE_NOTE = "Drawn by Reprise's tests, from the spans that an OpenTelemetry collector was sent.";

/** The generation that is drawn has not failed. */
const MAY_BE_EMPTY = new Set(["Outcome: code"]);

/** Spans that tell of a whole generation, from the request to the readers, of whom there are two. */
const SPANS = [
  "POST /v1/generations",
  "send jobs",
  "process jobs",
  "chat sim",
  "execute_tool",
  "append end",
  "moderate",
  "deliver",
];

test("each dashboard and a trace are drawn from what a platform under load has measured, with data in each panel", async (context) => {
  await using opened = await openPage(context);
  await using receiver = await startOtlpReceiver();
  const tracing = { REPRISE_OTLP_URL: receiver.url, REPRISE_TRACE_SAMPLE: "1" };
  await using platform = await startObservedPlatform({ all: tracing });
  await using prometheus = await startPrometheus({ services: platform.services, scale: SCALE });
  const fromMs = Date.now();
  await drive(platform);
  await load(platform, performance.now() + LOAD_MS);
  const generation = await runTracedGeneration(platform);
  const spans = await receivedTrace(receiver, generation);

  const sourcesNow = (): Sources => {
    const range = { fromMs, toMs: Date.now() };
    const variables = { generation, trace: spans[0]?.traceId ?? "", step: "1m" };
    return {
      prometheus: { ...range, url: prometheus.url, rateInterval: FOLDER === undefined ? "5s" : "20s" },
      api: { ...range, url: platform.url, key: platform.usageKey, variables },
      spans,
    };
  };
  for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
    const found = { sources: sourcesNow(), data: new Map<number, PanelData>() };
    const missing = async () => {
      found.sources = sourcesNow();
      found.data = new Map(await findData(dashboard, found.sources));
      return missingIn(dashboard, found.data);
    };
    await expect.poll(missing, { interval: 500 }).toEqual([]);
    const { fromMs: begin, toMs } = found.sources.prometheus;
    await keep(name, drawPage(dashboard, { data: found.data, fromMs: begin, toMs, note: NOTE }));
  }
  await keep("trace", drawTracePage(spans, TRACE_NOTE));
  if (FOLDER !== undefined)
    await writeFile(join(FOLDER, DRAWN_FROM), `${JSON.stringify(dashboardHashes(), null, 2)}\n`);

  async function keep(name: string, html: string): Promise<void> {
    const { png, overlaps } = await photograph(opened.page, html);
    expect({ name, overlaps }).toEqual({ name, overlaps: [] });
    // A page without charts has some 20 KB.
    expect(png.length).toBeGreaterThan(40_000);
    if (FOLDER === undefined) return;
    await mkdir(FOLDER, { recursive: true });
    await writeFile(join(FOLDER, `${name}.png`), png);
  }
});

/** The spans of a generation's trace, as soon as those that tell of all of it have come. */
async function receivedTrace(receiver: OtlpReceiver, generation: string): Promise<DrawnSpan[]> {
  const traceId = () =>
    receiver.spans.find(({ attributes }) => attributes["reprise.generation"] === generation)?.traceId ??
    "none";
  await receiver.until((spans) => {
    const wanted = traceId();
    const names = spans.filter((span) => span.traceId === wanted).map(({ name }) => name);
    return (
      SPANS.every((name) => names.includes(name)) && names.filter((name) => name === "deliver").length > 1
    );
  });
  const wanted = traceId();
  const requests = receiver.received.split("\n").filter((request) => request.includes(wanted));
  return parseSpans(requests.join("\n")).filter((span) => span.traceId === wanted);
}

/** What panels lack, by their titles: data, or a column of the API's answer that has no value in any row. */
function missingIn({ panels }: Dashboard, data: ReadonlyMap<number, PanelData>): string[] {
  return panels.flatMap((panel) => {
    const found = data.get(panel.id);
    if (found === undefined) return [];
    if (!hasData(found)) return [panel.title];
    return columnsOf(panel)
      .filter((column) => !hasColumn(found, column))
      .map((column) => `${panel.title}: ${column}`)
      .filter((column) => !MAY_BE_EMPTY.has(column));
  });
}

function columnsOf({ targets = [] }: Panel): string[] {
  const columns = targets.flatMap((target) => ("columns" in target ? target.columns : []));
  return columns.filter(({ type }) => type !== "timestamp").map(({ text }) => text);
}

function hasColumn(data: PanelData, column: string): boolean {
  if (data.kind === "series") return data.series.some(({ name }) => name === column);
  if (data.kind === "values") return data.values.some(({ name, value }) => name === column && value !== null);
  if (data.kind !== "table") return false;
  const index = data.columns.indexOf(column);
  return data.rows.some((row) => row[index] !== null);
}
