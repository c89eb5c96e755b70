import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connect } from "node:http2";
import { once } from "node:events";
import type { ModerationPolicy } from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectUndisturbed, follow, untilMore } from "../proxies/testing/followers.ts";
import { ENDLESS } from "../proxies/testing/proxied-platform.ts";
import { startProject } from "./testing/project.ts";
import { docker, ROOT } from "./testing/docker.ts";

const READERS = 20;
const SOME = 5;
const CARD = "4111 1111 1111 1111";

let project: Awaited<ReturnType<typeof startProject>>;
beforeAll(async () => {
  project = await startProject("reprise-test-e2e", "10.94.65");
  process.stdout.write(`docker compose up, the profile full: ${project.upS.toFixed(0)} s\n`);
}, 1_800_000);
afterAll(() => project?.[Symbol.asyncDispose]());

describe("the project that docker compose brings up, with the profile full", () => {
  test("streams a token to the command that it prints", async () => {
    const said = await project.compose("logs", "--no-log-prefix", "hello");
    const command = /^ {2}curl[\s\S]+$/m.exec(said)?.[0] ?? "";
    expect(said).toContain("KEY=$(docker compose run --rm --no-deps -T hello key)");
    const env = { ...process.env, KEY: project.apiKey };
    const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd: ROOT, env });
    expect(stdout).toContain('"type":"output.delta"');
    expect(stdout.trimEnd()).toMatch(/"type":"generation.completed".+"output_tokens":200}}$/);
  });

  test("speaks HTTP/2 over TLS", async () => {
    const session = connect(project.tlsUrl, { rejectUnauthorized: false });
    try {
      await once(session, "connect");
      expect(session.alpnProtocol).toBe("h2");
    } finally {
      session.close();
    }
  });

  test("joins a create that is repeated, and resumes from any cursor", async () => {
    const request = { model: "sim", input: "Go on.", options: { tokens: 60, tokens_per_second: 100 } };
    const first = await project.generations.create(request, { idempotencyKey: "once" });
    const again = await project.generations.create(request, { idempotencyKey: "once" });
    expect(again.id).toBe(first.id);
    const broken = project.generations.stream(first.id);
    const seen: string[] = [];
    for await (const event of broken) {
      seen.push(JSON.stringify(event));
      if (seen.length === 10) break;
    }
    const rest = project.generations.stream(first.id, { after: broken.cursor! });
    for await (const event of rest) seen.push(JSON.stringify(event));
    expect(seen).toEqual(await project.readLog(first.id));
  });

  test("calls tools and goes on with their results", async () => {
    const stream = project.generations.run(
      {
        model: "sim",
        input: "Look it up.",
        tools: [{ name: "look_up", parameters: { type: "object" } }],
        options: { tokens: 40, tokens_per_second: 200, tool_call_after_tokens: 20 },
      },
      { tools: { look_up: () => ({ found: true }) } },
    );
    expect(await stream.done()).toMatchObject({ status: "completed" });
    const log = await project.readLog(stream.id!);
    expect(log.filter((event) => event.includes('"tool.result"')).length).toBe(1);
  });

  test("cancels", async () => {
    const { id } = await project.create(ENDLESS);
    const [follower] = follow(project, project.url, id, 1);
    await untilMore([follower!], SOME);
    expect(await project.generations.cancel(id)).toMatchObject({ status: "cancelled" });
    await expectUndisturbed(project, id, [follower!]);
  });

  test("redacts before anyone reads it", async () => {
    const moderation: ModerationPolicy = { mode: "gate", rules: ["cards"] };
    const chunks = ["The number is ", CARD, ", ", "and that is all."];
    const { id } = await project.create({ chunks, tokens_per_second: 100 }, { moderation });
    const stream = project.generations.stream(id);
    const seen: string[] = [];
    for await (const event of stream) seen.push(JSON.stringify(event));
    expect(stream.status).toBe("completed");
    expect(seen.join("")).not.toContain("4111");
    expect((await project.generations.get(id)).text).toBe("The number is [redacted], and that is all.");
  });

  test("archives what was streamed, cosigned by its witness, and verifies it", async () => {
    const verify = () =>
      project.compose(
        "exec",
        "-T",
        "audit-log",
        "/usr/local/bin/node",
        "--env-file=/run/reprise/settings.env",
        "services/audit-log/src/cli/main.js",
        "verify",
      );
    await expect.poll(verify).toMatch(/^fine: [1-9]\d* commits/);
    const witnessed = () => project.compose("logs", "--no-log-prefix", "witness");
    await expect.poll(witnessed).toContain('"result":"cosigned"');
  });

  test("counts usage", async () => {
    const headers = { authorization: `Bearer ${project.apiKey}` };
    const usage = async () => {
      const answer = await fetch(`${project.url}/v1/usage?by=status`, { headers });
      const { data } = (await answer.json()) as { data: { key: { status: string }; generations: number }[] };
      return data.find(({ key }) => key.status === "cancelled")?.generations;
    };
    await expect.poll(usage).toBe(1);
  });

  test("has every target of Prometheus up", async () => {
    const query = "http://127.0.0.1:9090/api/v1/query?query=sum(up)";
    const ask = () => project.compose("exec", "-T", "prometheus", "wget", "-q", "-O", "-", query);
    await expect.poll(ask).toMatch(/"value":\[[\d.]+,"8"\]/);
  });
});

describe("with readers attached", () => {
  test.each([["nats-2"], ["delivery-1"], ["worker-1"], ["redis"]])(
    "%s is killed and comes back, and no reader is shown an error",
    async (service) => {
      const ids = await Promise.all(
        Array.from({ length: 2 }, async () => (await project.create(ENDLESS)).id),
      );
      const readers = ids.map((id) => follow(project, project.url, id, READERS / 2));
      await untilMore(readers.flat(), SOME);
      await project.kill(service);
      await untilMore(readers.flat(), 4 * SOME);
      await project.restart(service);
      await untilMore(readers.flat(), SOME);
      await Promise.all(ids.map((id) => project.generations.cancel(id)));
      await Promise.all(ids.map((id, index) => expectUndisturbed(project, id, readers[index]!)));
    },
  );
});

test("a second SIGTERM ends a container at once, whose first process the kernel keeps signals from", async () => {
  const container = await project.compose("ps", "--quiet", "delivery-2");
  const ended = docker(["wait", container]);
  const terminate = () => docker(["kill", "--signal", "SIGTERM", container]);
  await terminate();
  await expect.poll(() => docker(["logs", container])).toContain('"msg":"stopping"');
  await terminate();
  // 0 would be an orderly stop, and 137 one by SIGKILL.
  expect(await ended).toBe("143");
  await project.restart("delivery-2");
});
