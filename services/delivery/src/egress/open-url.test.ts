import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { toAllowedHost } from "./allowed-hosts.ts";
import { type Egress, type EgressTimes, openUrl } from "./open-url.ts";
import type { EgressPorts } from "./dial.ts";
import { HOST, openTlsHost, PUBLIC } from "./tls-host.fixture.ts";

const URL_A = `https://${HOST}/a.png`;
const ALLOWED = [HOST, "other.example.com", "third.example.com"].map(toAllowedHost);
const MAX = 1_000;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function fetching(
  url: string,
  answer: Answer,
  { ports: others = {}, times = {} }: { ports?: Partial<EgressPorts>; times?: EgressTimes } = {},
) {
  const asked: IncomingMessage[] = [];
  await using host = await openTlsHost((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  const egress: Egress = { ...host.ports, ...others, allowed: ALLOWED, times };
  let content: string | undefined;
  let error: unknown;
  try {
    const opened = await openUrl(url, egress, { param: "url", maxBytes: MAX });
    content = Buffer.concat(await Array.fromAsync(opened.content)).toString();
    opened.close();
  } catch (thrown) {
    error = thrown;
  }
  return { content, error, asked, dialled: host.dialled, resolved: host.resolved };
}

const says =
  (text: string): Answer =>
  (_request, response) =>
    response.end(text);
const redirects =
  (location: string, status = 302): Answer =>
  (_request, response) =>
    response.writeHead(status, { location }).end();
const never: Answer = () => undefined;
const REFUSED = { code: "invalid_request", param: "url", retryable: false };
const UNAVAILABLE = { code: "media_unavailable", param: "url", retryable: true };

test("content is fetched from the address that was judged, and nothing of the platform is sent along", async () => {
  const { content, dialled, resolved, asked } = await fetching(`${URL_A}?v=1#part`, says("hello"));
  expect(content).toBe("hello");
  expect([resolved, dialled]).toEqual([[HOST], [PUBLIC]]);
  expect(asked[0]!.url).toBe("/a.png?v=1");
  expect(Object.keys(asked[0]!.headers).toSorted()).toEqual([
    "accept",
    "accept-encoding",
    "connection",
    "host",
    "user-agent",
  ]);
});

test.each([
  ["a private address", ["10.0.0.1"]],
  ["the machine itself", ["127.0.0.1"]],
  ["the cloud's own service", ["169.254.169.254"]],
  ["a mapped address", ["::ffff:127.0.0.1"]],
  ["a public and a private address", [PUBLIC, "192.168.1.1"]],
  ["a private and a public address", ["fd00::1", PUBLIC]],
  ["no address", []],
  ["what is no address", ["localhost"]],
])("a name that has %s is not dialled", async (_, addresses) => {
  const { error, dialled } = await fetching(URL_A, says("x"), {
    ports: { resolve: async () => addresses },
  });
  expect(error).toMatchObject({
    ...REFUSED,
    message: "url: leads to a host that this server does not fetch from.",
  });
  expect(dialled).toEqual([]);
});

test("a name whose answer changes is dialled at the address that was judged: it is asked for once", async () => {
  const answers = [[PUBLIC], ["127.0.0.1"]];
  const asked: string[] = [];
  const { content, dialled } = await fetching(URL_A, says("x"), {
    ports: {
      async resolve(host) {
        asked.push(host);
        return answers.shift() ?? ["127.0.0.1"];
      },
    },
  });
  expect([content, dialled, asked]).toEqual(["x", [PUBLIC], [HOST]]);
});

test.each([
  "https://127.0.0.1/",
  "https://localhost/",
  "https://[::1]/",
  "https://2130706433/",
  "http://files.example.com/a.png",
  "file:///etc/passwd",
  "https://evil.example/",
  "//evil.example/",
  "https://files.example.com@evil.example/",
  "https://files.example.com:22/",
])("a redirect to %j is not followed", async (location) => {
  const { error, dialled } = await fetching(URL_A, redirects(location));
  expect(error).toMatchObject(REFUSED);
  expect(dialled).toEqual([PUBLIC]);
});

test.each([301, 302, 303, 307, 308])(
  "a redirect by %d to a host on the list is looked up and judged again",
  async (status) => {
    const answer: Answer = (request, response) =>
      request.headers.host === HOST
        ? redirects("https://other.example.com/b", status)(request, response)
        : says("there")(request, response);
    const { content, resolved } = await fetching(URL_A, answer);
    expect([content, resolved]).toEqual(["there", [HOST, "other.example.com"]]);
  },
);

test("a redirect to a name on the list that leads inside is not followed", async () => {
  const { error, dialled } = await fetching(URL_A, redirects("https://other.example.com/"), {
    ports: { resolve: async (host) => (host === HOST ? [PUBLIC] : ["10.0.0.1"]) },
  });
  expect(error).toMatchObject(REFUSED);
  expect(dialled).toEqual([PUBLIC]);
});

test.each(["/again", "", URL_A])("redirects without end are ended: to %j", async (location) => {
  const { error, dialled } = await fetching(URL_A, redirects(location));
  expect(error).toMatchObject(REFUSED);
  expect(dialled).toHaveLength(4);
});

test.each([
  [
    "is too long by its own word",
    (_r, response) => response.writeHead(200, { "content-length": MAX + 1 }).end("x"),
  ],
  [
    "is too long, and does not say so",
    (_r, response) => response.writeHead(200, { "transfer-encoding": "chunked" }).end("x".repeat(MAX + 1)),
  ],
  [
    "is compressed, though that was not asked for",
    (_r, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(9))),
  ],
  ["is not there", (_r, response) => response.writeHead(404).end("x")],
  ["needs a key", (_r, response) => response.writeHead(401).end("x")],
  ["is a part", (_r, response) => response.writeHead(206).end("x")],
  ["is empty of content by its status", (_r, response) => response.writeHead(204).end()],
] satisfies [string, Answer][])("content that %s is refused", async (_, answer) => {
  expect((await fetching(URL_A, answer)).error).toMatchObject(REFUSED);
});

test.each([
  [
    "is shorter than it says",
    (_r, response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("x", () => response.destroy());
    },
  ],
  ["breaks off", (_r, response) => void response.write("x", () => response.destroy())],
  ["comes from a server in trouble", (_r, response) => response.writeHead(503).end()],
  ["comes from a server that is busy", (_r, response) => response.writeHead(429).end()],
  ["is no HTTP", (request) => request.socket.end("SSH-2.0-OpenSSH_9.6\r\n")],
  [
    "has endless headers",
    (request) => request.socket.write(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(10_000)}`),
  ],
] satisfies [string, Answer][])("content that %s can be asked for again", async (_, answer) => {
  expect((await fetching(URL_A, answer)).error).toMatchObject(UNAVAILABLE);
});

test.each([
  ["a server that says nothing", never, { headersMs: 50 }],
  ["a server that says one byte and no more", (_r, response) => response.write("x"), { totalMs: 200 }],
  [
    "a server that sends a header at a time",
    (r) => r.socket.write("HTTP/1.1 200 OK\r\nx: "),
    { headersMs: 50 },
  ],
] satisfies [string, Answer, EgressTimes][])("%s is not waited for", async (_, answer, times) => {
  expect((await fetching(URL_A, answer, { times })).error).toMatchObject(UNAVAILABLE);
});

test.each([
  ["a lookup that does not come back", { resolve: () => new Promise<never>(() => {}) }],
  ["a name that is unknown", { resolve: () => Promise.reject(new Error("ENOTFOUND 10.0.0.1")) }],
  ["a host that can't be reached", { dial: () => Promise.reject(new Error("ECONNREFUSED 10.0.0.1")) }],
] satisfies [string, Partial<EgressPorts>][])("%s is told without an address", async (_, ports) => {
  const { error } = await fetching(URL_A, says("x"), { ports, times: { connectMs: 50 } });
  expect(error).toMatchObject(UNAVAILABLE);
  expect((error as Error).message).not.toContain("10.0.0.1");
});

test("a certificate of another name is no connection", async () => {
  const { error } = await fetching("https://third.example.com/", says("x"));
  expect(error).toMatchObject(UNAVAILABLE);
});

test("the next address of a name is tried where the first can't be reached", async () => {
  await using host = await openTlsHost(says("x"));
  const tried: string[] = [];
  const egress: Egress = {
    allowed: ALLOWED,
    times: {},
    resolve: async () => ["1.1.1.1", PUBLIC],
    dial(to, signal) {
      tried.push(to.address);
      return to.address === PUBLIC ? host.ports.dial(to, signal) : Promise.reject(new Error("refused"));
    },
  };
  const opened = await openUrl(URL_A, egress, { param: "url", maxBytes: MAX });
  expect(Buffer.concat(await Array.fromAsync(opened.content)).toString()).toBe("x");
  expect(tried).toEqual(["1.1.1.1", PUBLIC]);
});
