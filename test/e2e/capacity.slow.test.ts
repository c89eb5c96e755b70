import { resolve } from "node:path";
import { connectBroker } from "@reprise/log";
import { findNatsServer } from "@reprise/service";
import { createTempDir } from "@reprise/testkit";
import { expect, onTestFinished, test } from "vitest";
import { checkpointsOf, toLoad } from "../bench/capacity/load.ts";
import { readUnitCosts } from "../bench/capacity/unit-costs.ts";
import { startChild } from "../bench/children/child.ts";
import { startLoadClient } from "../bench/load/load-client.ts";
import { measureDisk } from "../bench/scenarios/capacity/disk.ts";
import { type Phase, predict } from "../bench/scenarios/capacity/fit-costs.ts";
import { measureStreams } from "../bench/scenarios/capacity/phases.ts";
import { startWholePlatform } from "../bench/targets/reprise/whole-platform.ts";

const COSTS = readUnitCosts().capacity;
const SECONDS = 5;
const LOAD = { generations: 40, tokensPerSecond: 25 };
const DISK = { generations: 10, tokens: 100, tokensPerSecond: 25 };

/** Of CPU, on any machine, beside any other work: what is compared is how it is spread. */
const CPU_FACTOR = 2.5;
/** Of bytes, which depend on no machine. */
const BYTES_FACTOR = 1.6;
/** Roles with less of the CPU are measured in too few of the system's ticks. */
const LEAST_SHARE = 0.06;

const expectWithin = (ratio: number, factor: number, what: string) => {
  expect(ratio, what).toBeGreaterThan(1 / factor);
  expect(ratio, what).toBeLessThan(factor);
};

test(
  "a small run of the bench spends CPU, network and disk as the calculator's table says",
  { timeout: 300_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const { path: natsServer } = await findNatsServer(process.env, resolve(".reprise"));
    const dir = stack.use(await createTempDir("capacity"));
    const settings = { natsServer, redis: "redis-server", profileDir: undefined };
    const platform = stack.use(await startWholePlatform(settings, dir.path));
    const broker = stack.use(
      await connectBroker({ url: platform.broker.urlFor("admin"), name: "capacity-test" }),
    );
    const load = stack.use(await startLoadClient());
    const script = new URL("../bench/load/churn-client.ts", import.meta.url);
    const churnClient = stack.use(await startChild({ name: "churn client", script }));
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const world = { platform, broker, load, churnClient, signal: abort.signal };

    const disk = await measureDisk(world, DISK);
    const tokens = DISK.generations * DISK.tokens;
    const tableTokens = COSTS.disk.generations * COSTS.disk.tokensPerGeneration;
    const logOf = (use: typeof disk) => use.streamBytes["GENERATIONS"]! / use.events;
    expectWithin(logOf(disk) / logOf(COSTS.disk), BYTES_FACTOR, "bytes of an event in the log");
    expect(disk.events).toBeGreaterThanOrEqual(DISK.generations * 4);
    const demand = {
      ...DISK,
      readers: 1,
      retentionHours: 1,
      moderated: 1,
      archiveDays: 1,
      blobMegabytes: 0,
      blobHours: 24,
    };
    const seconds = DISK.tokens / DISK.tokensPerSecond;
    const planned = toLoad(demand);
    expect(disk.events / (planned.events * seconds)).toBeLessThanOrEqual(1.1);
    const checkpoints = DISK.generations * checkpointsOf(DISK.tokens, DISK.tokensPerSecond).count;
    expectWithin(disk.messages["CHECKPOINTS"]! / checkpoints, 2.5, "checkpoints");
    expect(disk.archiveBytes / tokens).toBeGreaterThan(0.2 * (COSTS.disk.archiveBytes / tableTokens));

    const one = await measureStreams(world, { ...LOAD, name: "one reader", readers: 1 }, SECONDS);
    const ten = await measureStreams(world, { ...LOAD, name: "ten readers", readers: 10 }, SECONDS);
    for (const phase of [one, ten]) expectShape(phase);
    // What further readers cost delivery, in CPU of the worker in the same phase: so neither the machine nor a process that is new counts.
    const ofWorker = (cpuOf: (role: string) => number) => cpuOf("delivery") / cpuOf("worker");
    const measured = ({ usage }: Phase) => ofWorker((role) => usage[role]!.cpuMicros);
    const said = ({ drivers }: Phase) => ofWorker((role) => predict(COSTS.roles[role]!.cpuMicros, drivers));
    expectWithin(measured(ten) / measured(one) / (said(ten) / said(one)), 2, "ten readers, of one");
  },
);

function expectShape({ name, drivers, usage }: Phase): void {
  const roles = Object.entries(COSTS.roles).map(([role, { cpuMicros, writtenBytes }]) => ({
    role,
    said: predict(cpuMicros, drivers),
    measured: usage[role]!.cpuMicros,
    bytes: usage[role]!.writtenBytes / predict(writtenBytes, drivers),
  }));
  const sum = (of: (role: (typeof roles)[number]) => number) =>
    roles.reduce((total, role) => total + of(role), 0);
  const speed = sum(({ measured }) => measured) / sum(({ said }) => said);
  const counted = roles.filter(({ said }) => said / sum((each) => each.said) > LEAST_SHARE);
  expect(counted.length).toBeGreaterThan(3);
  for (const { role, said, measured } of counted)
    expectWithin(measured / said / speed, CPU_FACTOR, `${name}: CPU of ${role}, of the run's speed`);
  for (const { role, bytes } of roles.filter((each) => each.role === "delivery" || each.role === "worker"))
    expectWithin(bytes, 2, `${name}: bytes that ${role} writes`);
}
