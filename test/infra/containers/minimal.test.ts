import { performance } from "node:perf_hooks";
import { createTempDir } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventsOf, readDocument } from "../../e2e/testing/document.ts";
import { expectUndisturbed, follow, untilMore } from "../proxies/testing/followers.ts";
import { ENDLESS } from "../proxies/testing/proxied-platform.ts";
import { ensureBaseImages } from "./testing/base-images.ts";
import { docker } from "./testing/docker.ts";
import { TAG } from "./testing/images.ts";
import { createProjectSpace, openProject, type Project } from "./testing/project.ts";

const GUIDE = readDocument("docs/operations/containers.md");
const SOME = 5;

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(0)} s`;

let base: Awaited<ReturnType<typeof ensureBaseImages>>;
let project: Project;
beforeAll(async () => {
  base = await ensureBaseImages();
  const space = await createProjectSpace("reprise-test-minimal", "10.94.67", { base, profiles: "" });
  // Compose's own way to the images, from the file's `build:`.
  const began = performance.now();
  await space.compose("build", "--quiet");
  process.stdout.write(`docker compose build: ${seconds(began)}\n`);
  await space.compose("up", "--detach");
  process.stdout.write(`and up, without a profile: ${seconds(began)}\n`);
  project = await openProject(space);
}, 1_800_000);
afterAll(() => project?.[Symbol.asyncDispose]());

/** The command that `docker compose up` prints. */
async function printedCommand(): Promise<string> {
  const said = await project.compose("logs", "--no-log-prefix", "hello");
  return (/^ {2}KEY=[\s\S]+$/m.exec(said)?.[0] ?? "").trimEnd();
}

describe("the project that docker compose brings up, without a profile", () => {
  test("is one container of each service", async () => {
    const services = (await project.compose("ps", "--services")).split("\n").toSorted();
    // `hello` may not have ended yet.
    expect(services.filter((name) => name !== "hello")).toEqual([
      "analytics",
      "audit-log",
      "delivery-1",
      "moderation",
      "nats-1",
      "nginx",
      "witness",
      "worker-1",
    ]);
    await project.untilHealthy();
  });

  test("streams to the command that it prints, and resumes behind any event", async () => {
    await expect.poll(printedCommand).toContain("curl");
    const command = await printedCommand();
    const print = async (header: string) =>
      eventsOf(await project.shell(`${command} -H "Idempotency-Key: printed" ${header}`));
    const began = performance.now();
    const first = await print("");
    process.stdout.write(`the printed command, 200 tokens: ${seconds(began)}\n`);
    expect(first.at(-1)).toMatchObject({ type: "generation.completed", usage: { output_tokens: 200 } });
    expect(await print(`-H "Last-Event-ID: ${first[4]!.id}"`)).toEqual(first.slice(5));
  });

  test("has no target of Prometheus that is down with the profile observability", async () => {
    // Without Grafana and the collector, which no package brings.
    const compose = "docker compose --profile observability";
    await project.shell(`${compose} run --rm --no-deps profile-observability`);
    await project.shell(
      `${compose} run --rm --no-deps prepare && ${compose} up --detach --no-deps prometheus`,
    );
    const query = "http://127.0.0.1:9090/api/v1/query?query=sum(up)==count(up)";
    const ask = () => project.compose("exec", "-T", "prometheus", "wget", "-q", "-O", "-", query);
    await expect.poll(ask).toMatch(/"value":\[[\d.]+,"6"\]/);
  });
});

test("upgrades by the guide's loop, under readers, and starts nothing that was not there", async () => {
  const { id } = await project.create(ENDLESS);
  const readers = follow(project, project.url, id, 4);
  await untilMore(readers, SOME);
  const idsOf = async (services: readonly string[]) =>
    Promise.all(services.map((service) => project.compose("ps", "--quiet", service)));
  const before = (await project.compose("ps", "--services")).split("\n");
  const ours = before.filter((service) => !/^(?:nats|nginx|prometheus)/.test(service));
  const old = await idsOf(ours);
  // As another version: a name is enough for Compose to make every container anew.
  const images = (await docker(["images", "--format", "{{.Repository}}:{{.Tag}}"])).split("\n");
  for (const image of images.filter(
    (name) => name.startsWith("localhost/reprise/") && name.endsWith(`:${TAG}`),
  ))
    await docker(["tag", image, `${image.slice(0, -TAG.length)}${TAG}-next`]);
  const loop = GUIDE.block("sh", "for name in").replace(/^git pull.*\n/, "");
  await project.shell(loop, { VERSION: `${TAG}-next` });
  expect((await project.compose("ps", "--services")).split("\n")).toEqual(before);
  const anew = await idsOf(ours);
  expect(anew.filter((container) => old.includes(container))).toEqual([]);
  await untilMore(readers, SOME);
  await project.generations.cancel(id);
  await expectUndisturbed(project, id, readers);
});

test("a backup is restored into a new project, which is moved to the profile full", async () => {
  await using dir = await createTempDir("backup");
  const ended = await project.generations.create(
    { model: "sim", input: "Go on.", options: { tokens: 60, tokens_per_second: 100 } },
    { idempotencyKey: "kept" },
  );
  const half = project.generations.stream(ended.id);
  for await (const event of half) if (event.seq === 20) break;
  await expect.poll(async () => (await project.generations.get(ended.id)).status).toBe("completed");
  const log = await project.readLog(ended.id);
  const running = await project.create(ENDLESS);
  await untilMore(follow(project, project.url, running.id, 1), SOME);

  const withFolder = (script: string) => script.replace(/^B=.*$/m, `B=${dir.path}`);
  const said = await project.shell(withFolder(GUIDE.block("sh", "main.js backup")));
  expect(said).toMatch(/\/backup\/streams is whole: \d+ streams of 4 shards/);
  const { apiKey } = project;
  await project[Symbol.asyncDispose]();

  await using space = await createProjectSpace("reprise-test-moved", "10.94.68", { base, profiles: "full" });
  const script = GUIDE.block("sh", "main.js restore");
  const restored = await space.shell(withFolder(script.replace(/^REPLICAS=.*$/m, "REPLICAS=3")));
  expect(restored).toContain("Generations without an end and a job, queued again: 0.");
  await space.untilHealthy();
  const moved = await openProject(space);
  expect(moved.apiKey).toBe(apiKey);
  expect(await moved.readLog(ended.id)).toEqual(log);
  const rest: string[] = [];
  for await (const event of moved.generations.stream(ended.id, { after: half.cursor! }))
    rest.push(JSON.stringify(event));
  expect(rest).toEqual(log.slice(-rest.length));
  expect(rest.length).toBe(log.length - 20);
  const again = await moved.generations.create(
    { model: "sim", input: "Go on.", options: { tokens: 60, tokens_per_second: 100 } },
    { idempotencyKey: "kept" },
  );
  expect(again.id).toBe(ended.id);
  // What ran goes on, as another attempt.
  const [reader] = follow(moved, moved.url, running.id, 1);
  await untilMore([reader!], SOME);
  const attempts = () =>
    reader!.events.flatMap((event) => (event.type === "generation.started" ? [event.attempt] : []));
  await expect.poll(attempts).toEqual([1, 2]);
  await moved.generations.cancel(running.id);
  await expectUndisturbed(moved, running.id, [reader!]);
  const verify = "services/audit-log/src/cli/main.js verify";
  const node = "docker compose exec -T audit-log /usr/local/bin/node --env-file=/run/reprise/settings.env";
  await expect.poll(() => space.shell(`${node} ${verify}`)).toMatch(/^fine: [1-9]\d* commits/);
  const replicas = await space.shell(
    "docker compose run --rm --no-deps set-up --env-file=/run/reprise/settings.env infra/nats/main.js status",
  );
  expect(replicas).toContain("Every stream is whole.");
  expect(replicas).not.toMatch(/ R1 /);
}, 1_200_000);
