import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const FIXTURE = fileURLToPath(new URL("./lifecycle.fixture.ts", import.meta.url));

function startProcess(behaviour: string) {
  const child = spawn(process.execPath, [FIXTURE, behaviour], { stdio: ["ignore", "pipe", "pipe"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const stderr = text(child.stderr);
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  /** Reads the log until a line with this message. */
  const logged = async (msg: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the process ended before it logged "${msg}"`);
      const line = JSON.parse(value) as Record<string, unknown>;
      if (line["msg"] === msg) return line;
    }
  };
  return { child, stderr, ended, logged, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

describe("a process that runs a service", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("stops on %s and ends well", async (signal) => {
    using run = startProcess("good");
    await run.logged("started");
    run.child.kill(signal);
    expect(await run.logged("stopping")).toMatchObject({ signal });
    await run.logged("stopped");
    expect(await run.ended).toEqual({ code: 0, signal: null });
  });

  test.each([
    ["bad-config", "fixture: REPRISE_PORT must be a number\n"],
    ["no-broker", "fixture: nats://[redacted]@host: refused\n"],
    [
      "port-taken",
      expect.stringMatching(/^fixture: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+\n$/),
    ],
    // A defect has a stack.
    ["broken", expect.stringMatching(/^fixture: TypeError: a defect\n\s+at /)],
  ])("says in one line why it can't start: %s", async (behaviour, said) => {
    using run = startProcess(behaviour);
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(await run.stderr).toEqual(said);
  });

  test("ends by a signal that comes during a start which does not end, and says so", async () => {
    using run = startProcess("never-starts");
    await run.logged("starting");
    run.child.kill("SIGTERM");
    expect(await run.ended).toEqual({ code: null, signal: "SIGTERM" });
    expect(await run.stderr).toMatch(/^fixture: SIGTERM has come while it starts, .*\n$/);
  });

  test("stops and ends with a failure when its service can't continue", async () => {
    using run = startProcess("fails");
    expect(await run.logged("can't continue")).toMatchObject({
      err: { message: "the broker has other shards" },
    });
    await run.logged("stopped");
    expect(await run.ended).toEqual({ code: 1, signal: null });
  });

  test.each([
    ["while it drains", "fails-stuck", 2_100],
    ["in two seconds without its broker", "fails-brokerless", 2_000],
  ])(
    "ends with a failure when its service can't continue and does not stop %s",
    async (_, behaviour, drainMs) => {
      using run = startProcess(behaviour);
      expect(await run.logged("not stopped in time; ending now")).toMatchObject({ drainMs });
      expect(await run.ended).toEqual({ code: 1, signal: null });
    },
  );

  test("ends with a failure when its service does not stop cleanly", async () => {
    using run = startProcess("stop-fails");
    await run.logged("started");
    run.child.kill("SIGTERM");
    await run.logged("did not stop cleanly");
    expect(await run.ended).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("ends when its time to drain is over, and says what was still open", async () => {
    using run = startProcess("leaky");
    await run.logged("started");
    run.child.kill("SIGTERM");
    expect(await run.logged("not stopped in time; ending now")).toMatchObject({
      drainMs: 300,
      open: expect.arrayContaining(["Timeout"]),
    });
    expect(await run.ended).toEqual({ code: null, signal: "SIGTERM" });
  });

  test.each([
    ["at once", "good", "started"],
    ["after its start", "starts-late", "starting"],
  ])("reads its configuration again on SIGHUP, %s", async (_, behaviour, msg) => {
    using run = startProcess(behaviour);
    await run.logged(msg);
    run.child.kill("SIGHUP");
    await run.logged("configuration read again");
  });

  test.each([
    ["not ready", "notices", "SIGTERM"],
    ["stopping", "stuck", "SIGINT"],
  ] as const)(
    "that is %s ends at once on a second signal, but not on SIGHUP",
    async (msg, behaviour, second) => {
      using run = startProcess(behaviour);
      await run.logged("started");
      run.child.kill("SIGTERM");
      await run.logged(msg);
      run.child.kill("SIGHUP");
      await run.logged("stopping: the configuration is not read again");
      run.child.kill(second);
      expect(await run.ended).toEqual({ code: null, signal: second });
    },
  );

  test.each([
    ["is wrong", "reload-fails", "tenants[0].id is missing"],
    [
      "meets a defect, with its stack",
      "reload-broken",
      expect.stringMatching(/^TypeError: a defect\n\s+at /),
    ],
  ])("keeps its configuration when the new one %s", async (_, behaviour, problem) => {
    using run = startProcess(behaviour);
    await run.logged("started");
    run.child.kill("SIGHUP");
    expect(await run.logged("configuration not read again; the old one stays")).toMatchObject({ problem });
    run.child.kill("SIGTERM");
    await run.logged("stopping");
  });
});
