import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { download, WrongSumError } from "./download.ts";
import { fetchRelease, type FetchOptions } from "./fetch-release.ts";
import type { Release } from "./releases.ts";

let root: string;
let dataDir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "reprise-release-"));
  dataDir = join(root, "data");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

const PATH = "/project/tool/releases/download/v1.2.3/tool-v1.2.3-linux-amd64.tar.gz";
const SAYS_VERSION = "#!/bin/sh\necho 'tool: v1.2.3'\n";

/** An archive as projects publish them: a folder with the programs and a text. */
function pack(programs: Readonly<Record<string, string>>): Buffer {
  const folder = join(root, "packed", "tool-v1.2.3-linux-amd64");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries({ ...programs, "README.md": "tool" }))
    writeFileSync(join(folder, name), text, { mode: 0o644 });
  const file = join(root, "packed.tar.gz");
  execFileSync("tar", ["-czf", file, "-C", join(root, "packed"), "tool-v1.2.3-linux-amd64"]);
  rmSync(join(root, "packed"), { recursive: true });
  return readFileSync(file);
}

/** The release that an archive is the right one of. */
function pinned(archive: Buffer, programs: readonly string[] = ["tool"]): Release {
  return {
    name: "tool",
    version: "1.2.3",
    programs,
    archive: (platform) => `project/tool/releases/download/v1.2.3/tool-v1.2.3-${platform}.tar.gz`,
    sha256: { "linux-amd64": createHash("sha256").update(archive).digest("hex") },
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (answer: RequestListener) => listen(createServer(answer));

function fetchHere(release: Release, baseUrl: string, options: Partial<FetchOptions> = {}): Promise<void> {
  return fetchRelease(release, dataDir, { baseUrl, platform: "linux", arch: "x64", ...options });
}

/** What is in the data folder: nothing half-done may stay. */
const kept = () => readdirSync(dataDir, { recursive: true }).map(String).toSorted();

test("puts the programs of the right archive where they can be run, and nothing else", async () => {
  const archive = pack({ tool: SAYS_VERSION, toolctl: SAYS_VERSION, other: "" });
  const asked: (string | undefined)[] = [];
  const url = await serve((message, response) => {
    asked.push(message.url);
    response.end(archive);
  });
  await fetchHere(pinned(archive, ["tool", "toolctl"]), `${url}/`);
  expect(asked).toEqual([PATH]);
  expect(kept()).toEqual(["bin", "bin/tool", "bin/toolctl"]);
  expect(String(execFileSync(join(dataDir, "bin", "tool")))).toBe("tool: v1.2.3\n");
});

test("refuses an archive with a wrong sum, and says both sums", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const other = pack({ tool: `${SAYS_VERSION}# other\n` });
  const url = await serve((_, response) => response.end(other));
  const attempt = fetchHere(pinned(archive), url);
  await expect(attempt).rejects.toBeInstanceOf(WrongSumError);
  const [found, wanted] = [other, archive].map((bytes) => createHash("sha256").update(bytes).digest("hex"));
  await expect(attempt).rejects.toThrow(
    `${url}${PATH} has the SHA-256 ${found} and not ${wanted}: it is not the pinned release`,
  );
  expect(kept()).toEqual(["bin"]);
});

test("refuses an archive that was cut, whether the server says so or not", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const half = archive.subarray(0, archive.length / 2);
  const cuts: RequestListener[] = [
    (_, response) => response.end(half),
    (_, response) => {
      response.writeHead(200, { "content-length": archive.length });
      response.write(half, () => response.destroy());
    },
    (_, response) => void response.write(half, () => response.destroy()),
  ];
  const errors: string[] = [];
  for (const cut of cuts)
    await fetchHere(pinned(archive), await serve(cut)).catch((error: Error) => errors.push(error.message));
  expect(errors).toEqual([
    expect.stringContaining("it is not the pinned release"),
    expect.stringContaining("can't be downloaded: "),
    expect.stringContaining("can't be downloaded: "),
  ]);
  expect(kept()).toEqual(["bin"]);
});

test("says what the server answered instead of the archive", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const url = await serve((_, response) => response.writeHead(404).end("no such release"));
  await expect(fetchHere(pinned(archive), url)).rejects.toThrow(
    `${url}${PATH} can't be downloaded: it answered 404`,
  );
  expect(kept()).toEqual(["bin"]);
});

test("waits for a slow server as long as it sends something", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const pieces = [archive.subarray(0, 50), archive.subarray(50, 100), archive.subarray(100)];
  const asked = Promise.withResolvers<ServerResponse>();
  const url = await serve((_, response) => asked.resolve(response));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const target = join(root, "archive");
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const done = download(url, target, { sha256, stallMs: 30_000 });
  const response = await asked.promise;
  for (const [index, piece] of pieces.entries()) {
    vi.advanceTimersByTime(20_000);
    response.write(piece);
    const sent = pieces.slice(0, index + 1).reduce((bytes, { length }) => bytes + length, 0);
    await expect.poll(() => statSync(target, { throwIfNoEntry: false })?.size).toBe(sent);
  }
  response.end();
  await done;
});

test("stops at a limit when a server does not", async () => {
  const url = await serve((_, response) => {
    const more = () => void response.write(Buffer.alloc(1_024), (error) => (error ? undefined : more()));
    more();
  });
  const attempt = download(url, join(root, "archive"), { sha256: "0".repeat(64), maxBytes: 10_000 });
  await expect(attempt).rejects.toThrow("it sent more than 10000 bytes");
});

test("gives up on a server that stops, before its answer or within it", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const silent = await serve(() => {});
  const stuck = await serve((_, response) => void response.write(archive.subarray(0, 10)));
  const said = "it sent nothing for 50 ms";
  await expect(fetchHere(pinned(archive), silent, { stallMs: 50 })).rejects.toThrow(said);
  await expect(fetchHere(pinned(archive), stuck, { stallMs: 50 })).rejects.toThrow(said);
  expect(kept()).toEqual(["bin"]);
});

test("follows redirects to where the project keeps its files, and not for ever", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const files = await serve((_, response) => response.end(archive));
  const url = await serve((_, response) => response.writeHead(302, { location: `${files}/1` }).end());
  await fetchHere(pinned(archive), url);
  expect(kept()).toEqual(["bin", "bin/tool"]);

  const loop = await serve((message, response) => response.writeHead(302, { location: message.url }).end());
  await expect(fetchHere(pinned(archive), loop)).rejects.toThrow(
    /can't be downloaded: redirect count exceeded/,
  );
});

test("says why there is no connection", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const server = createServer();
  const url = await listen(server);
  server.close();
  await once(server, "close");
  await expect(fetchHere(pinned(archive), url)).rejects.toThrow(/can't be downloaded: connect ECONNREFUSED/);
  await expect(fetchHere(pinned(archive), "http://no-such-host.invalid")).rejects.toThrow(
    /^http:\/\/no-such-host\.invalid\/.* can't be downloaded: getaddrinfo /,
  );
  expect(kept()).toEqual(["bin"]);
});

test("goes through the proxy that the environment names", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  const files = await serve((_, response) => response.end(archive));
  const proxy = createServer((message, response) => {
    request(files, (answer) => answer.pipe(response)).end();
    asked.push(message.url);
  });
  const asked: (string | undefined)[] = [];
  proxy.on("connect", ({ url }: IncomingMessage, socket: Socket) => {
    asked.push(url);
    const { port } = new URL(files);
    const upstream = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
  });
  const url = await listen(proxy);
  vi.stubEnv("http_proxy", url);
  vi.stubEnv("no_proxy", "");
  await fetchHere(pinned(archive), "http://releases.test");
  expect(asked).toEqual([expect.stringContaining("releases.test")]);
  expect(kept()).toEqual(["bin", "bin/tool"]);
});

test("refuses a platform that is not pinned without asking a server", async () => {
  const archive = pack({ tool: SAYS_VERSION });
  let requests = 0;
  const url = await serve((_, response) => {
    requests++;
    response.end(archive);
  });
  const others = [
    { platform: "linux", arch: "riscv64" },
    { platform: "win32", arch: "x64" },
    { platform: "darwin", arch: "arm64" },
  ] as const;
  for (const other of others)
    await expect(fetchHere(pinned(archive), url, other)).rejects.toThrow(/^tool 1\.2\.3 is not pinned for /);
  expect(requests).toBe(0);
});

test("keeps no program that does not run here, and none of a release of which one does not", async () => {
  const foreign = pack({ tool: SAYS_VERSION, toolctl: "\u007fELF of another machine" });
  const other = pack({ tool: "#!/bin/sh\necho 'tool: v1.1.0'\n" });
  const none = pack({});
  const archives: [Buffer, string[], RegExp][] = [
    [foreign, ["tool", "toolctl"], /^the toolctl of tool 1\.2\.3 does not run here: /],
    [other, ["tool"], /^the tool of tool 1\.2\.3 does not run here: it says tool: v1\.1\.0\.?$/],
    [none, ["tool"], /^the release of tool 1\.2\.3 holds no tool/],
  ];
  for (const [archive, programs, said] of archives) {
    const url = await serve((_, response) => response.end(archive));
    await expect(fetchHere(pinned(archive, programs), url)).rejects.toThrow(said);
    expect(kept()).toEqual(["bin"]);
  }
});
