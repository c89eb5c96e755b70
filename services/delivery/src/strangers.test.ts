import { networkInterfaces } from "node:os";
import { LIMITS } from "@reprise/protocol";
import { MAX_UNANSWERED } from "@reprise/runtime";
import { afterAll, describe, expect, test } from "vitest";
import { call, KEYS, openPlatform, REQUEST } from "./testing/platform.ts";
import { openRawConnection, rawGet, type RawConnection } from "./testing/raw-connection.ts";

const platform = await openPlatform();
afterAll(() => platform[Symbol.asyncDispose]());

/** The head of a create whose body is announced and not sent. */
function createHead(headers: Record<string, string>): string {
  return rawGet("/v1/generations", { "content-type": "application/json", ...headers }).replace("GET", "POST");
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function statusOf(connection: RawConnection): Promise<string> {
  await connection.until("\r\n\r\n");
  return connection.text.slice(0, "HTTP/1.1 401".length);
}

describe("a body is read only for a key that may make the call: other calls are answered before", () => {
  const lengths = { whole: "content-length", chunked: "transfer-encoding" } as const;
  test.each(Object.entries(lengths))("a %s one", async (kind, header) => {
    const framing = { [header]: kind === "chunked" ? "chunked" : `${LIMITS.bodyBytes}` };
    const cases = [
      [createHead(framing), "401"],
      [createHead({ ...framing, ...bearer("rk_unknown") }), "401"],
      [createHead({ ...framing, ...bearer(KEYS.acmeReader) }), "403"],
      [createHead(framing).replace("/v1/generations", "/v1/nothing"), "401"],
      [createHead({ ...framing, ...bearer(KEYS.acme) }).replace("/v1/generations", "/v1/nothing"), "404"],
      [createHead({ ...framing, ...bearer(KEYS.acme) }).replace("POST", "PUT"), "405"],
      [createHead(framing).replace("POST", "PUT"), "401"],
      [createHead(framing).replace("/v1/generations", "/%76%31/generations"), "401"],
    ] as const;
    for (const [head, status] of cases) {
      await using connection = await openRawConnection(platform.node.url);
      connection.send(head);
      expect([head, await statusOf(connection)]).toEqual([head, `HTTP/1.1 ${status}`]);
    }
  });

  test("and one that continues sending a refused body is cut off", async () => {
    await using node = await platform.addNode({ arrivalMs: 5_000 });
    await using connection = await openRawConnection(node.url);
    connection.send(createHead({ "content-length": `${LIMITS.bodyBytes}` }));
    expect(await statusOf(connection)).toBe("HTTP/1.1 401");
    connection.send("{");
    await connection.ended;
  });

  test("and the answer to a large one is whole, says that the connection ends, and is not cut off by its end", async () => {
    const length = LIMITS.bodyBytes;
    await using connection = await openRawConnection(platform.node.url);
    connection.send(createHead({ "content-length": `${length}` }));
    await connection.until('"retryable":false}}');
    expect(connection.text).toMatch(/^HTTP\/1.1 401 [^]*\r\nconnection: close\r\n/);
    connection.send("x".repeat(length));
    expect(await connection.ended).toBe("fin");
  });

  test("and a small body that was refused does not end the connection", async () => {
    await using connection = await openRawConnection(platform.node.url);
    connection.send(`${createHead({ "content-length": "2" })}{}`);
    await connection.until('"unauthenticated"');
    connection.send(rawGet("/", {}));
    await connection.until('"not_found"');
  });

  test("and a client that waits to be asked for its body is asked only then", async () => {
    const expecting = { expect: "100-continue", "content-length": `${JSON.stringify(REQUEST).length}` };
    await using stranger = await openRawConnection(platform.node.url);
    stranger.send(createHead(expecting));
    expect(await statusOf(stranger)).toBe("HTTP/1.1 401");
    await using known = await openRawConnection(platform.node.url);
    known.send(createHead({ ...expecting, ...bearer(KEYS.acme) }));
    expect(await statusOf(known)).toBe("HTTP/1.1 100");
    known.send(JSON.stringify(REQUEST));
    await known.until("HTTP/1.1 201");
  });
});

test("a connection that sends requests far ahead of their answers is broken off", async () => {
  await using connection = await openRawConnection(platform.node.url);
  connection.send(rawGet("/v1/generations/x", {}).repeat(5_000));
  await connection.ended;
  expect(connection.text.split("HTTP/1.1 401").length - 1).toBeLessThanOrEqual(MAX_UNANSWERED);
});

test("a malformed body without a valid key is not read", async () => {
  const url = `${platform.node.url}/v1/generations`;
  const over = "x".repeat(LIMITS.bodyBytes + 1);
  for (const body of ["{", over]) {
    const { status, json } = await call(url, { body, key: "rk_unknown" });
    expect([status, json]).toMatchObject([401, { error: { code: "unauthenticated" } }]);
  }
});

/** On Linux each address of 127.0.0.0/8 is this machine's own; on macOS `sudo ifconfig lo0 alias 127.0.0.2` makes it one. */
const hasSecondAddress =
  process.platform === "linux" ||
  Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "127.0.0.2"));

test.runIf(hasSecondAddress)(
  "an address may have a limited number of connections, and one more when one of them has gone",
  async () => {
    const node = await platform.addNode({ maxConnectionsPerAddress: 3 });
    const { url } = node;
    await using stack = new AsyncDisposableStack();
    const [first] = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const connection = stack.use(await openRawConnection(url));
        connection.send(rawGet("/", {}));
        await connection.until('"not_found"');
        return connection;
      }),
    );
    await using refused = await openRawConnection(url);
    expect(await refused.ended).toBe("fin");
    expect(refused.text).toMatch(
      /^HTTP\/1.1 503 [^]*\r\nretry-after: 1\r\n[^]*\{"error":\{"code":"overloaded",/,
    );

    await using elsewhere = await openRawConnection(url, { localAddress: "127.0.0.2" });
    elsewhere.send(rawGet("/", {}));
    await elsewhere.until('"not_found"');

    await first![Symbol.asyncDispose]();
    await expect
      .poll(async () => {
        await using again = await openRawConnection(url);
        again.send(rawGet("/", { connection: "close" }));
        await again.ended;
        return again.text;
      })
      .toMatch(/^HTTP\/1.1 404 /);
    expect((await call(`${node.opsUrl}/metrics`)).text).toMatch(/^reprise_connections_refused_total [1-9]/m);
    expect(node.logged.match(/connections are refused/g)).toHaveLength(1);
  },
);

describe("a connection that carries no whole request in time is closed", () => {
  const path = "/v1/generations";
  test.each([
    ["without a byte", "", "408", 200],
    ["half of its headers", `POST ${path} HTTP/1.1\r\nhost: x\r\n`, "408", 200],
    ["half of its body", `${createHead({ ...bearer(KEYS.acme), "content-length": "9" })}{`, "408", 200],
    ["after an answer", rawGet("/", {}), "404", 5_000],
  ])("%s", async (_, bytes, status, arrivalMs) => {
    await using node = await platform.addNode({ arrivalMs });
    await using connection = await openRawConnection(node.url);
    connection.send(bytes);
    await connection.ended;
    expect(connection.text.slice(0, "HTTP/1.1 408".length)).toBe(`HTTP/1.1 ${status}`);
  });
});
