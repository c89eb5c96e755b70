import { stat } from "node:fs/promises";
import { join } from "node:path";
import { cosignedAt, encodeAddCheckpoint } from "@reprise/archive";
import { createTempDir, startWitnessProcess } from "@reprise/testkit";
import { describe, expect, it, test } from "vitest";
import { createHistory, LOG, ORIGIN } from "@reprise/archive/testing";
import { openWitnessIdentity, parseWitnessEnvironment } from "./config.ts";

const history = createHistory("leaf", 200);
const fork = createHistory("fork", 200);
const ROUNDS = 8;

async function post(url: string, oldSize: number, size: number, from = history) {
  const body = encodeAddCheckpoint({
    oldSize,
    proof: await from.proof(oldSize, size),
    note: from.note(size),
  });
  const response = await fetch(`${url}/add-checkpoint`, { method: "POST", body });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

async function openFolder() {
  const temporary = await createTempDir("witness");
  const dir = join(temporary.path, "w");
  return { dir, logs: [LOG], [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose]() };
}

describe("the witness's process", () => {
  it("says its key, serves what it has cosigned, and answers with C2SP's codes", async () => {
    await using folder = await openFolder();
    await using witness = await startWitnessProcess(folder);
    const { url } = witness;
    const first = await post(url, 0, 5);
    expect(first.status).toBe(200);
    const kept = await fetch(`${url}/checkpoint/${ORIGIN}`);
    expect(await kept.text()).toBe(`${history.note(5)}${first.text}`);
    expect(cosignedAt(`${history.note(5)}${first.text}`, witness.key)).toBeGreaterThan(0);
    expect(await post(url, 0, 9)).toEqual({ status: 409, type: "text/x.tlog.size", text: "5\n" });
    expect((await post(url, 5, 9, fork)).status).toBe(422);
    const statusOf = async (path: string, init?: RequestInit) => (await fetch(`${url}${path}`, init)).status;
    const posted = (body: string) => statusOf("/add-checkpoint", { method: "POST", body });
    expect(await posted("hello")).toBe(400);
    expect(await posted(`old 5\n\n${history.note(9).replace("\n9\n", "\n8\n")}`)).toBe(403);
    expect(await posted(`old 0\n\n${history.note(9, LOG, "else/acme")}`)).toBe(404);
    expect(await posted("x".repeat(1_000_000))).toBe(413);
    expect(await statusOf("/add-checkpoint")).toBe(405);
    expect(await statusOf("/checkpoint/reprise/nobody")).toBe(404);
    expect(await statusOf("/else")).toBe(404);
    expect(await statusOf("/healthz")).toBe(200);
    expect(await witness.stop()).toBe(0);
    expect((await stat(join(folder.dir, "witness.key"))).mode & 0o777).toBe(0o600);
  });

  it("has health, metrics and a line for each request on request, without the client's text, and an alarm for a second history", async () => {
    await using folder = await openFolder();
    const env = { REPRISE_OPS_PORT: "0", REPRISE_ACCESS_LOG: "on" };
    await using witness = await startWitnessProcess({ ...folder, env });
    const { url, lines } = witness;
    const ops = String(lines.at(-1)?.["ops"]);
    expect((await fetch(`${ops}/readyz`)).status).toBe(200);
    await post(url, 0, 5);
    await post(url, 0, 9);
    await post(url, 5, 9, fork);
    for (const path of ["/healthz", "/checkpoint/reprise/falcon", "/falcon"]) await fetch(url + path);
    const requests = () => lines.filter(({ msg }) => msg === "request");
    await expect.poll(() => requests().length).toBe(5);
    const route = "/add-checkpoint";
    const told = requests().map(({ route: of, status, result }) => ({ route: of, status, result }));
    expect(told).toEqual([
      { route, status: 200, result: "cosigned" },
      { route, status: 409, result: "conflict" },
      { route, status: 422, result: "inconsistent" },
      { route: "/checkpoint/:origin", status: 404, result: undefined },
      { route: undefined, status: 404, result: undefined },
    ]);
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([{ result: "inconsistent" }]);
    expect(JSON.stringify(lines)).not.toContain("falcon");
    const metrics = await (await fetch(`${ops}/metrics`)).text();
    const counts = [...metrics.matchAll(/^reprise_witness_requests_total\{result="(.*)"\} (.*)$/gm)];
    expect(counts.map(([, result, count]) => `${result} ${count}`)).toEqual([
      "cosigned 1",
      "conflict 1",
      "inconsistent 1",
      "refused 0",
      "failed 0",
    ]);
    const answered = [
      ...metrics.matchAll(/^reprise_http_request_seconds_count\{service="witness",(.*)\} (.*)$/gm),
    ];
    expect(answered.map(([, labels, count]) => `${labels} ${count}`)).toEqual([
      'method="POST",route="/add-checkpoint",status="2xx" 1',
      'method="POST",route="/add-checkpoint",status="4xx" 2',
      'method="GET",route="/healthz",status="2xx" 1',
      'method="GET",route="/checkpoint/:origin",status="4xx" 1',
      'method="GET",route="none",status="4xx" 1',
    ]);
  });

  it("remembers what it has cosigned after every SIGKILL: no log is rolled back or forked behind its back", async () => {
    await using folder = await openFolder();
    const keys = new Set<string>();
    // What was answered is kept. The request that is under way may be or not.
    let [answered, sent] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      await using witness = await startWitnessProcess(folder);
      const { url, key } = witness;
      keys.add(key.vkey);
      const told = await post(url, 200, 200);
      const seen = Number(told.text);
      expect([told.status, seen >= answered, seen <= sent], `round ${round}: ${seen}`).toEqual([
        409,
        true,
        true,
      ]);

      const next = seen + 3;
      expect((await post(url, seen, next)).status).toBe(200);
      expect((await post(url, next, next, fork)).status).toBe(409);
      expect((await post(url, next, next + 1, fork)).status).toBe(422);
      expect(await post(url, seen, next - 1)).toMatchObject({ status: 409, text: `${next}\n` });

      sent = next + 1;
      const last = post(url, next, sent);
      const killed = witness.kill();
      answered = await last.then(
        () => sent,
        () => next,
      );
      await killed;
    }
    expect(keys.size).toBe(1);
  });

  test.each([
    ["no log to trust", {}, "REPRISE_WITNESS_LOGS"],
    ["a log's key that is none", { REPRISE_WITNESS_LOGS: "reprise+00000000+AAAA" }, "malformed"],
    [
      "the key of another witness",
      { REPRISE_WITNESS_LOGS: LOG.vkey, REPRISE_WITNESS_NAME: "w2" },
      "not of the witness w2",
    ],
  ])("does not start with %s", async (_, variables, message) => {
    await using folder = await openFolder();
    const identify = async (more: Record<string, string>) =>
      openWitnessIdentity(parseWitnessEnvironment({ REPRISE_WITNESS_DIR: folder.dir, ...more }));
    await identify({ REPRISE_WITNESS_LOGS: LOG.vkey });
    await expect(identify(variables)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(message),
    });
  });
});
