import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findFreePort, sendSignal, startOnFreePorts } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findNatsServer } from "./find-nats-server.ts";
import { natsServerFiles } from "./nats-server-config.ts";
import { startNatsServer } from "./nats-server-process.ts";

const DATA_DIR = fileURLToPath(new URL("../../../../.reprise", import.meta.url));
const FIXTURE = fileURLToPath(new URL("./nats-server-process.fixture.ts", import.meta.url));

let binary: string;
let root: string;

beforeAll(async () => {
  binary = (await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR)).path;
  root = await mkdtemp(join(tmpdir(), "reprise-nats-server-"));
});

afterAll(() => rm(root, { recursive: true }));

const newStore = () => mkdtemp(join(root, "store-"));

/** Lets as much time pass as a server needs to start, which is more than one needs to end. */
async function awaitStartOfAnother(): Promise<void> {
  const { stop } = await startNatsServer({ binary, storeDir: await newStore() });
  await stop();
}

interface RawClient {
  socket: Socket;
  /** Resolves when the connection is closed or reset. */
  closed: Promise<void>;
  info: Record<string, unknown>;
  ping: () => Promise<string>;
}

/** A raw NATS client: the server's first line tells what it is, PING shows that it lives, and the socket closes when it dies. */
async function connectRaw(port: number): Promise<RawClient> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  const closed = new Promise<void>((resolve) => void socket.on("close", () => resolve()));
  const [hello] = (await once(socket, "data")) as [Buffer];
  const info = JSON.parse(hello.toString().slice("INFO ".length)) as Record<string, unknown>;
  const ping = async () => {
    socket.write('CONNECT {"verbose":false}\r\nPING\r\n');
    return String((await once(socket, "data"))[0]);
  };
  return { socket, closed, info, ping };
}

interface Platform extends AsyncDisposable {
  child: ChildProcess;
  port: number;
  pid: number;
  nextLine(): Promise<string>;
}

async function startPlatform(storeDir: string): Promise<Platform> {
  const child = spawn(process.execPath, [FIXTURE, binary, storeDir], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => String((await lines.next()).value);
  const { port, pid } = JSON.parse(await nextLine()) as { port: number; pid: number };
  const dispose = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { child, port, pid, nextLine, [Symbol.asyncDispose]: dispose };
}

describe("a nats-server started as a child", () => {
  test("accepts clients on 127.0.0.1, with JetStream and the payload limit that was asked for", async () => {
    await using server = await startNatsServer({
      binary,
      storeDir: await newStore(),
      maxPayloadBytes: 2_097_152,
    });
    const { socket, info } = await connectRaw(server.port);
    socket.destroy();
    expect(info).toMatchObject({
      host: "127.0.0.1",
      port: server.port,
      jetstream: true,
      max_payload: 2_097_152,
    });
    expect(server.url).toBe(`nats://127.0.0.1:${server.port}`);
  });

  test("has a folder and a configuration that only its owner can read, also where others could before", async () => {
    const storeDir = await newStore();
    const { config } = natsServerFiles({ storeDir });
    await writeFile(config, "{}", { mode: 0o644 });
    await chmod(storeDir, 0o755);
    await using server = await startNatsServer({ binary, storeDir });
    expect(server.pid).toBeGreaterThan(0);
    const modes = await Promise.all([storeDir, config].map(async (path) => (await stat(path)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o600]);
  });

  test("ends when it is stopped, and says that this was expected", async () => {
    const server = await startNatsServer({ binary, storeDir: await newStore() });
    const { closed } = await connectRaw(server.port);
    await Promise.all([closed, server.stop()]);
    await server.stop();
    expect(await server.exited).toEqual({ code: 0, expected: true });
  });

  test("says that its end was not expected when it crashes", async () => {
    await using server = await startNatsServer({ binary, storeDir: await newStore() });
    process.kill(server.pid, "SIGKILL");
    expect(await server.exited).toEqual({ code: 128 + 9, expected: false });
  });

  test("is gone once its parent has been killed with SIGKILL", async () => {
    await using platform = await startPlatform(await newStore());
    const { socket, closed } = await connectRaw(platform.port);
    platform.child.kill("SIGKILL");
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  test("lives through a Ctrl-C in its parent's terminal, so that the parent can drain first", async () => {
    await using platform = await startPlatform(await newStore());
    const { socket, ping } = await connectRaw(platform.port);
    // A terminal signals the whole process group.
    process.kill(-platform.child.pid!, "SIGINT");
    expect(await platform.nextLine()).toBe("draining");
    await awaitStartOfAnother();
    expect(await ping()).toContain("PONG");
    socket.destroy();
  });

  test("lets a successor on the same folder in only when it has ended itself", async () => {
    const storeDir = await newStore();
    const predecessor = await startPlatform(storeDir);
    await sendSignal(predecessor.pid, "SIGSTOP");
    predecessor.child.kill("SIGKILL");
    let isIn = false;
    const patient = { binary, storeDir, predecessorGraceMs: 60_000 };
    const successor = startNatsServer(patient).finally(() => (isIn = true));
    await awaitStartOfAnother();
    expect(isIn).toBe(false);
    process.kill(predecessor.pid, "SIGCONT");
    const { stop } = await successor;
    expect(() => process.kill(predecessor.pid, 0)).toThrow("ESRCH");
    await stop();
  });

  test("keeps others out of its folder for as long as it runs", async () => {
    const storeDir = await newStore();
    await using server = await startNatsServer({ binary, storeDir });
    const second = startNatsServer({ binary, storeDir, predecessorGraceMs: 0 });
    await expect(second).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(`(pid ${server.pid})`),
    });
  });

  test("comes back on the port that was asked for", async () => {
    const storeDir = await newStore();
    // Not one of those that outgoing connections take.
    const first = await startOnFreePorts(async () =>
      startNatsServer({ binary, storeDir, port: await findFreePort() }),
    );
    await first.stop();
    await using second = await startNatsServer({ binary, storeDir, port: first.port });
    expect(second.url).toBe(first.url);
  });

  test("reports a server that ends at once with what it logged", async () => {
    await using server = await startNatsServer({ binary, storeDir: await newStore() });
    const start = startNatsServer({ binary, storeDir: await newStore(), port: server.port });
    await expect(start).rejects.toMatchObject({
      code: "broker_unavailable",
      message: expect.stringContaining("address already in use"),
    });
  });

  test("reports an executable that is not there", async () => {
    const start = startNatsServer({ binary: join(root, "none"), storeDir: await newStore() });
    await expect(start).rejects.toMatchObject({
      code: "broker_unavailable",
      message: expect.stringContaining("status 127"),
    });
  });

  test("reports a server that does not become ready in time, and ends it", async () => {
    const slow = join(root, "slow");
    await writeFile(slow, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
    const start = startNatsServer({ binary: slow, storeDir: await newStore(), startTimeoutMs: 100 });
    await expect(start).rejects.toMatchObject({ message: expect.stringContaining("did not start in time") });
  });
});
