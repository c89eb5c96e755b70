import { performance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { startProject } from "./testing/project.ts";
import { startTimedReaders } from "./testing/timed-readers.ts";

const GENERATIONS = 10;
const READERS_EACH = 20;
/** So few that the machine has room for what starts. */
const SPEECH = { tokens: 1_000_000, tokens_per_second: 5 };

/** In the order of docs/operations.md: delivery last of the services. */
const ORDER = [
  "nats-3",
  "nats-2",
  "nats-1",
  "redis",
  "moderation",
  "witness",
  "audit-log",
  "analytics",
  "worker-2",
  "worker-1",
  "delivery-2",
  "delivery-1",
  "nginx",
  "prometheus",
];

const toS = (ms: number): string => (ms / 1_000).toFixed(1);

test("every container is made anew, one after the other, under 200 readers, and none is shown an error", async () => {
  await using project = await startProject("reprise-test-roll", "10.94.66");
  const ids = await Promise.all(
    Array.from({ length: GENERATIONS }, async () => (await project.create(SPEECH)).id),
  );
  const groups = ids.map((id) => startTimedReaders(project.generations, id, READERS_EACH));
  const takePause = () => Math.max(...groups.map((group) => group.takeLongestPause()));
  const sum = (of: "events" | "reconnects") => groups.reduce((total, group) => total + group[of], 0);
  const untilMore = async () => {
    const goals = groups.map(({ logs }) => logs.map((log) => log.length));
    await expect
      .poll(() => groups.every(({ logs }, g) => logs.every((log, r) => log.length > goals[g]![r]!)))
      .toBe(true);
  };
  await untilMore();
  await untilMore();
  takePause();
  const rolled: { container: string; pauseMs: number }[] = [];
  for (const container of ORDER) {
    const began = performance.now();
    await project.replace(container);
    await untilMore();
    const pauseMs = takePause();
    rolled.push({ container, pauseMs });
    process.stdout.write(
      `${container}: ${toS(performance.now() - began)} s, longest pause ${toS(pauseMs)} s, reconnects so far ${sum("reconnects")}\n`,
    );
  }
  expect(groups.flatMap(({ errors }) => errors)).toEqual([]);
  await Promise.all(ids.map((id) => project.generations.cancel(id)));
  await Promise.all(groups.map(({ over }) => over));
  expect(groups.flatMap(({ errors }) => errors)).toEqual([]);
  for (const [index, id] of ids.entries()) {
    const log = await project.readLog(id);
    for (const read of groups[index]!.logs) expect(read).toEqual(log);
  }
  const longest = rolled.toSorted((one, other) => other.pauseMs - one.pauseMs)[0]!;
  process.stdout.write(
    `${GENERATIONS * READERS_EACH} readers, ${sum("events")} events, ${sum("reconnects")} reconnects, 0 errors; longest pause ${toS(longest.pauseMs)} s (${longest.container})\n`,
  );
}, 3_600_000);
