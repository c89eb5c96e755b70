import { expect, test } from "vitest";
import { createMetrics } from "../http/metrics.ts";
import { DependencyWatches } from "./dependency-watch.ts";
import { createLogger } from "./logger.ts";
import { WatchGroup } from "./watch-group.ts";

test("a configuration that is read again keeps what is known of those that stay, and forgets the others", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const logger = createLogger({ service: "test", destination: { write: () => {} } });
  const watches = new DependencyWatches({ service: "test", logger, metrics });
  const group = new WatchGroup(watches, (member) => ({
    name: `engine:${member}`,
    gone: "gone",
    back: "back",
    reports: "each",
    graceMs: 0,
  }));
  const up = async () =>
    [...(await metrics.render()).matchAll(/^reprise_dependency_up\{.*dependency="(.*)"\} (.)$/gm)].map(
      ([, dependency, value]) => `${dependency} ${value}`,
    );
  group.keep(["a", "b"]);
  for (const member of ["a", "b"]) group.of(member).failed("no answer");
  expect(await up()).toEqual(["engine:a 0", "engine:b 0"]);
  group.keep(["b", "c"]);
  expect(await up()).toEqual(["engine:b 0", "engine:c 1"]);
});
