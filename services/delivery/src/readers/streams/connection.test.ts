import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  started,
} from "../../testing/platform.ts";
import { openRawConnection, rawGet } from "../../testing/raw-connection.ts";
import { dechunk } from "../../testing/http-chunks.ts";

const headers = authorization();

/** The answers on a connection, each with a chunked body that is complete or a `content-length`. */
function answersOf(text: string): { head: string; body: string }[] {
  const answers: { head: string; body: string }[] = [];
  for (let rest = text; rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n") + 4;
    const head = rest.slice(0, headEnd).toLowerCase();
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
    const chunked = head.includes("transfer-encoding: chunked");
    const bodyEnd = chunked ? rest.indexOf("\r\n0\r\n\r\n", headEnd) + 7 : headEnd + length;
    const coded = rest.slice(headEnd, bodyEnd);
    answers.push({ head, body: chunked ? dechunk(Buffer.from(coded, "latin1")).body.toString() : coded });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}

describe("a connection over HTTP/1.1", () => {
  test("carries the next request after a stream that ended, any number of times", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.message);
    process.on("warning", onWarning);
    await using connection = await openRawConnection(platform.node.url);
    for (let i = 1; i <= 15; i++) {
      connection.send(rawGet(`${path}/events`, headers));
      while (connection.text.split("0\r\n\r\n").length <= i) await connection.more();
    }
    connection.send(rawGet("/", {}));
    await connection.until('"param":null}}');
    process.off("warning", onWarning);
    const answers = answersOf(connection.text);
    expect(answers).toHaveLength(16);
    expect(new Set(answers.slice(0, 15).map(({ body }) => body)).size).toBe(1);
    expect(answers[0]!.body).toMatch(/1-1[^]*1-2[^]*1-3/);
    expect(warnings).toEqual([]);
  });

  test("answers requests that were sent ahead one after the other, streams among them", async () => {
    await using platform = await openPlatform();
    const one = await createGeneration(platform);
    const two = await createGeneration(platform);
    await using connection = await openRawConnection(platform.node.url);
    const sent = [`${one.path}/events`, "/", `${two.path}/events`, `${one.path}/events?after=1-2`, "/"];
    connection.send(sent.map((path) => rawGet(path, headers)).join(""));
    await append(two.worker, started(), delta("two"), completed());
    await append(one.worker, started(), delta("one"), completed());
    while (connection.text.split('"not_found"').length <= 2) await connection.more();
    const bodies = answersOf(connection.text).map(({ body }) => body);
    expect(bodies[0]).toMatch(/^retry: 250\nid: 1-1\n[^]*"one"[^]*id: 1-3\n.*\n\n$/);
    expect(bodies[2]).toMatch(/^retry: 250\nid: 1-1\n[^]*"two"[^]*id: 1-3\n.*\n\n$/);
    expect(bodies[3]).toMatch(/^retry: 250\nid: 1-3\n.*\n\n$/);
    for (const body of [bodies[1], bodies[4]]) expect(body).toContain('"not_found"');
  });

  test("is broken, not written into, when nonsense comes while a stream runs", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    for (const version of ["1.0", "1.1"] as const) {
      await using connection = await openRawConnection(platform.node.url);
      connection.send(rawGet(`${path}/events`, headers, version));
      await connection.until("1-1");
      connection.send("NONSENSE\r\n\r\n");
      await connection.ended;
      expect(connection.text.match(/HTTP\/1/g)).toHaveLength(1);
      expect(connection.text).not.toContain("0\r\n\r\n");
    }
  });

  test("whose client left before the stream began is not counted as a reader", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const gone = await openRawConnection(platform.node.url);
    // A stopped broker holds the request up after its headers; "100 Continue" confirms their receipt.
    await platform.server.kill("SIGSTOP");
    gone.send(rawGet(`${path}/events`, { ...headers, expect: "100-continue" }));
    await gone.until("100 Continue");
    await gone[Symbol.asyncDispose]();
    expect((await call(platform.node.url)).status).toBe(404);
    await platform.server.kill("SIGCONT");
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    expect(reader.status).toBe(200);
    expect((await call(`${platform.node.opsUrl}/metrics`)).text).toContain("\nreprise_readers 1\n");
  });

  test("that closes is forgotten", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const readers = await Promise.all(
      Array.from({ length: 5 }, () => openSseReader(`${platform.node.url}${path}/events`, { headers })),
    );
    const count = async () =>
      /^reprise_readers \d+$/m.exec((await call(`${platform.node.opsUrl}/metrics`)).text)![0];
    expect(await count()).toBe("reprise_readers 5");
    await Promise.all(readers.map((reader) => reader[Symbol.asyncDispose]()));
    await expect.poll(count).toBe("reprise_readers 0");
  });
});

describe("a client that speaks HTTP/1.0", () => {
  test("gets the plain frames and then the end of the connection", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await using connection = await openRawConnection(platform.node.url);
    connection.send(rawGet(`${path}/events`, { ...headers, connection: "keep-alive" }, "1.0"));
    await append(worker, started(), delta("a"));
    await connection.until("1-2");
    await append(worker, completed());
    expect(await connection.ended).toBe("fin");
    const [head, body] = connection.text.split("\r\n\r\n");
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(body).toMatch(/^retry: 250\nid: 1-1\ndata: .*\n\nid: 1-2\ndata: .*\n\nid: 1-3\ndata: .*\n\n$/);
  });

  test("is reset when the stream is broken off, for it could not tell an end from a break", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    await using connection = await openRawConnection(platform.node.url);
    connection.send(rawGet(`${path}/events`, headers, "1.0"));
    await connection.until("1-1");
    platform.node.delivery.drain();
    expect(await connection.ended).toBe("reset");
  });

  test("is reset too when it closes its own half before the end", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    await using connection = await openRawConnection(platform.node.url);
    connection.send(rawGet(`${path}/events`, headers, "1.0"));
    await connection.until("1-1");
    connection.halfClose();
    expect(await connection.ended).toBe("reset");
  });
});
