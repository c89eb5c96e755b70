import { createLogger, createMetrics, DependencyWatches } from "@reprise/runtime";
import { expect, test } from "vitest";
import type { Engine, ReplicaObserver } from "../../engines/engine.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
import { ReplicaReports } from "./replica-reports.ts";

/** A controllable engine of two servers with these numbers of requests. */
function createReplicated(inFlight: readonly number[], ejected: readonly boolean[] = [false, false]) {
  let observer: ReplicaObserver | undefined;
  const engine: Engine = {
    ...createFakeEngine(async function* () {}),
    replicas: {
      servers: inFlight.map((_, i) => ({ id: `http://u/secret-${i}`, host: "gpu", port: 8_000 + i })),
      views: () => inFlight.map((count, i) => ({ inFlight: count, isEjected: ejected[i]! })),
      observe: (next) => (observer = next),
    },
  };
  return { engine, tell: () => observer! };
}

function openReports() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const logger = createLogger({ service: "test", destination: { write } });
  const metrics = createMetrics({ processMetrics: false });
  const watches = new DependencyWatches({ service: "inference-worker", logger, metrics });
  const series = async (name: string) =>
    (await metrics.render()).split("\n").filter((line) => line.startsWith(`${name}{`));
  return { reports: new ReplicaReports(watches, metrics), lines, series };
}

test("each ejection and each return is one line, which names the server and no path", () => {
  const { reports, lines } = openReports();
  const { engine, tell } = createReplicated([0, 0]);
  reports.serve(new Map([["llama", { engine, slots: 1 }]]));
  for (let i = 0; i < 2; i++) {
    tell().onEjected(1, "it broke");
    tell().onBack(1);
  }
  const about = { model: "llama", replica: 1, server: "gpu:8001" };
  const gone = { ...about, because: "it broke", msg: expect.stringContaining("is ejected") };
  const back = { ...about, msg: expect.stringContaining("gets requests again") };
  expect(lines).toEqual([gone, back, gone, back].map((line) => expect.objectContaining(line)));
  expect(JSON.stringify(lines)).not.toContain("secret");
});

test("metrics name the model that the servers have, also when it replaces another", async () => {
  const { reports, series } = openReports();
  const own = createReplicated([2, 0], [false, true]);
  const standIn = createReplicated([1, 0], [false, true]);
  reports.serve(
    new Map([
      ["small", { engine: own.engine, slots: 1 }],
      [
        "large",
        {
          engine: createFakeEngine(async function* () {}),
          slots: 1,
          fallback: { model: "small", engine: standIn.engine },
        },
      ],
    ]),
  );
  own.tell().onEnded(0, "answered");
  standIn.tell().onEnded(0, "answered");
  standIn.tell().onEjected(1, "it broke");
  expect(await series("reprise_engine_replica_in_flight")).toEqual([
    'reprise_engine_replica_in_flight{model="small",replica="0"} 3',
    'reprise_engine_replica_in_flight{model="small",replica="1"} 0',
  ]);
  expect(await series("reprise_engine_replica_ejected")).toEqual([
    'reprise_engine_replica_ejected{model="small",replica="0"} 0',
    'reprise_engine_replica_ejected{model="small",replica="1"} 1',
  ]);
  expect(await series("reprise_engine_replica_requests_total")).toEqual([
    'reprise_engine_replica_requests_total{model="small",replica="0",outcome="answered"} 2',
  ]);
  expect(await series("reprise_dependency_up")).toEqual([
    'reprise_dependency_up{service="inference-worker",dependency="replica:small:0"} 1',
    'reprise_dependency_up{service="inference-worker",dependency="replica:small:1"} 0',
  ]);
});

test("engines that were replaced are told of no more, and their series are gone", async () => {
  const { reports, lines, series } = openReports();
  const before = createReplicated([1, 0]);
  reports.serve(new Map([["llama", { engine: before.engine, slots: 1 }]]));
  before.tell().onEjected(1, "it broke");
  const next = createReplicated([0]);
  reports.serve(new Map([["llama", { engine: next.engine, slots: 1 }]]));
  before.tell().onEjected(0, "it broke");
  expect(lines).toHaveLength(1);
  expect(await series("reprise_dependency_up")).toEqual([
    'reprise_dependency_up{service="inference-worker",dependency="replica:llama:0"} 1',
  ]);
  expect(await series("reprise_engine_replica_in_flight")).toEqual([
    'reprise_engine_replica_in_flight{model="llama",replica="0"} 0',
  ]);
});
