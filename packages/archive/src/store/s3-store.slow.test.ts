import { expect, onTestFinished, test, vi } from "vitest";
import { describeBlobStore } from "../testing/blob-store-conformance.ts";
import { type S3Fault, type S3Server, type S3ServerOptions, startS3Server } from "../testing/s3-server.ts";
import { probeStore, createS3Store } from "./s3-store.ts";

const unavailable = { code: "archive_unavailable" };
function openStore(server: S3Server, prefix = "", overrides = {}) {
  const { region, keyId, secret } = server;
  return createS3Store({ url: `${server.url}${prefix}`, region, keyId, secret, ...overrides });
}

/**
 * A server that fails at its first request. One that it does not answer is over as soon as it is there: a time so short that a test can wait
 * for it would end others as well on a busy machine.
 */
function startFailingOnce(fault: S3Fault): Promise<S3Server> {
  const first = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(first.signal);
  onTestFinished(() => timeout.mockRestore());
  return startS3Server({
    fault({ n }) {
      if (n > 0) return undefined;
      if (fault === "hang" || fault === "after-hang") setImmediate(() => first.abort());
      return fault;
    },
  });
}

const targets: [string, string, S3ServerOptions][] = [
  ["a bucket", "", {}],
  ["a bucket with a prefix and small pages", "/some/place=1", { page: 5 }],
  ["a bucket that knows no parts of objects", "", { ignoresRange: true }],
];
for (const [name, prefix, options] of targets) {
  describeBlobStore(name, async () => {
    const server = await startS3Server(options);
    return {
      open: () => openStore(server, prefix),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  });
}

describeBlobStore("a bucket that fails at every tenth request", async () => {
  const faults = [503, "cut", "after-503", "after-cut", 500, 429] as const;
  const server = await startS3Server({
    page: 10,
    fault: ({ n }) => (n % 10 === 1 ? faults[((n - 1) / 10) % faults.length] : undefined),
  });
  return {
    open: () => openStore(server),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

test("objects of other prefixes are not listed", async () => {
  await using server = await startS3Server();
  await openStore(server).put("else/k", Buffer.from("x"));
  await openStore(server, "/mine").put("k", Buffer.from("x"));
  expect(await Array.fromAsync(openStore(server, "/mine").list(""))).toEqual([{ key: "k", bytes: 1 }]);
  expect([...server.objects.keys()]).toEqual(["else/k", "mine/k"]);
});

test("a create whose answer got lost is found out by what lies there", async () => {
  for (const fault of ["after-cut", "after-hang", "after-503"] as const) {
    await using server = await startFailingOnce(fault);
    expect(await openStore(server).create("log/1", Buffer.from("mine"))).toBe("created");
    expect(server.requests).toEqual(["PUT log/1", "GET log/1"]);
  }
});

test("a create that was not taken is sent again", async () => {
  for (const fault of ["cut", "hang", 503, 409] as const) {
    await using server = await startFailingOnce(fault);
    expect(await openStore(server).create("log/1", Buffer.from("mine"))).toBe("created");
    expect(server.requests).toEqual(["PUT log/1", "GET log/1", "PUT log/1"]);
  }
});

test("a create that failed while another writer was first says that it exists", async () => {
  for (const fault of ["cut", "hang", 503, 409] as const) {
    await using server = await startFailingOnce(fault);
    server.objects.set("log/1", Buffer.from("theirs"));
    expect(await openStore(server).create("log/1", Buffer.from("mine"))).toBe("exists");
  }
});

test("a create whose outcome stays unknown is unavailable", async () => {
  await using server = await startS3Server({ fault: ({ method }) => (method === "PUT" ? 409 : undefined) });
  await expect(openStore(server).create("log/1", Buffer.from("mine"))).rejects.toMatchObject(unavailable);
  expect(server.requests.filter((request) => request.startsWith("PUT"))).toHaveLength(4);
});

test("an answer that breaks off or never comes is asked for again", async () => {
  for (const fault of ["cut-body", "hang", "cut"] as const) {
    await using server = await startS3Server({ fault: ({ n }) => (n === 0 ? fault : undefined) });
    server.objects.set("k", Buffer.from("whole"));
    // Three tries are left, should a busy machine be late with one.
    const store = openStore(server, "", { timeoutMs: 200 });
    expect(Buffer.from((await store.get("k"))!).toString()).toBe("whole");
  }
});

test("a store that does not answer is unavailable after four tries", async () => {
  await using server = await startS3Server({ fault: () => "cut" });
  const store = openStore(server);
  await expect(store.get("k")).rejects.toMatchObject(unavailable);
  expect(server.requests).toHaveLength(4);
  await expect(Array.fromAsync(store.list(""))).rejects.toMatchObject(unavailable);
});

test("a bucket that is gone does not look like an empty one", async () => {
  await using server = await startS3Server();
  const store = openStore(server, "", { url: server.url.replace("audit", "elsewhere") });
  await expect(store.get("k")).rejects.toMatchObject(unavailable);
  await expect(Array.fromAsync(store.list(""))).rejects.toMatchObject(unavailable);
});

test("a wrong secret is refused, named as what it is, and not repeated", async () => {
  await using server = await startS3Server();
  const store = openStore(server, "", { secret: "not/the=secret" });
  const error = await store.put("k", Buffer.from("x")).catch((thrown: Error) => thrown);
  expect(error).toMatchObject(unavailable);
  expect(String(error)).toContain("403 SignatureDoesNotMatch");
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/secret|AKIA/);
});

test("a URL without a bucket, or with a password, is refused without being repeated", () => {
  const rest = { region: "r", keyId: "k", secret: "s" };
  for (const url of [
    "nothing",
    "https://s3.example",
    "https://u:passw0rd@s3.example/b",
    "ftp://s3.example/b",
  ]) {
    expect(() => createS3Store({ url, ...rest })).toThrow(
      expect.objectContaining({ code: "config_invalid" }),
    );
    expect(() => createS3Store({ url, ...rest })).not.toThrow(/passw0rd/);
  }
});

test("a probe tells whether a store creates exclusively, and cleans up", async () => {
  const expected = { honoured: "conditional", ignored: "unconditional", refused: "unconditional" } as const;
  for (const conditions of ["honoured", "ignored", "refused"] as const) {
    await using server = await startS3Server({ conditions });
    expect(await probeStore(openStore(server))).toBe(expected[conditions]);
    expect(server.objects.size).toBe(0);
  }
});

test("a probe of a store that fails says neither", async () => {
  await using server = await startS3Server({
    fault: ({ method, n }) => (method === "PUT" && n > 0 ? 503 : undefined),
  });
  await expect(probeStore(openStore(server))).rejects.toMatchObject(unavailable);
});
