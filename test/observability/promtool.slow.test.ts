import { expect, test } from "vitest";
import { drive } from "./testing/drive.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";
import { promtool } from "./testing/promtool.ts";

const CHECK = ["check", "metrics"];

test("promtool finds nothing wrong with any service's metrics, on a platform that has done some work", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  for (const service of platform.services) {
    const result = await promtool(CHECK, await scrape(service));
    expect({ service: service.name, ...result }).toEqual({ service: service.name, code: 0, output: "" });
  }
});

test("promtool refuses a gauge with the name of a counter", async () => {
  const text = "# HELP handles_total Open handles.\n# TYPE handles_total gauge\nhandles_total 3\n";
  expect(await promtool(CHECK, text)).toEqual({
    code: 3,
    output: expect.stringContaining('non-counter metrics should not have "_total" suffix'),
  });
});
