import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile, rename, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { openSseReader } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
import {
  append,
  authorization,
  completed,
  createGeneration,
  delta,
  KEYS,
  started,
} from "../testing/platform.ts";
import { openTlsPlatform } from "../testing/tls-platform.ts";
import { rawGet } from "../testing/raw-connection.ts";
import { readCertificate } from "./certificate.ts";

const world = await openTlsPlatform();
const { dir, certificates, ca, files, platform, addNode } = world;
afterAll(() => world[Symbol.asyncDispose]());

interface Answer {
  readonly status: number | undefined;
  readonly hsts: string | undefined;
  readonly text: string;
}

async function get(url: string, key: string = KEYS.acme): Promise<Answer> {
  const asked = request(url, { ca, agent: false, headers: authorization(key) }).end();
  const [answer] = await once(asked, "response");
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode, hsts: answer.headers["strict-transport-security"], text };
}

/** A TLS connection that has said nothing yet. */
async function open(url: string): Promise<TLSSocket & AsyncDisposable> {
  const { port } = new URL(url);
  const socket = connect({ host: "127.0.0.1", port: Number(port), ca });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return Object.assign(socket, { [Symbol.asyncDispose]: async () => void socket.destroy() });
}

/** Everything that comes until the end, and how it ends. */
async function untilEnd(socket: Socket): Promise<{ text: string; end: string }> {
  let text = "";
  socket.on("data", (chunk) => (text += String(chunk)));
  const end = await new Promise<string>((resolve) => {
    socket.once("error", () => resolve("reset"));
    socket.once("end", () => resolve("fin"));
    socket.once("close", () => resolve("closed"));
  });
  return { text, end };
}

const fingerprintAt = async (url: string) => {
  await using socket = await open(url);
  return socket.getPeerX509Certificate()?.fingerprint256;
};

test("the API and its streams are served over TLS, and browsers are told to stay with it", async () => {
  await using node = await addNode();
  expect(node.url).toMatch(/^https:/);
  const { path, worker } = await createGeneration(platform);
  await append(worker, started(), delta("one"));
  expect(await get(`${node.url}${path}`)).toMatchObject({ status: 200, hsts: "max-age=31536000" });
  expect(await get(`${node.url}${path}`, "rk_unknown_0123456789")).toMatchObject({ status: 401 });
  await using reader = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
  await reader.nextFrame();
  await append(worker, delta("two"), completed());
  expect(await reader.ended).toBe("clean");
  expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-3", "1-4"]);
  const plain = await fetch(`${platform.node.url}${path}`, { headers: authorization() });
  await plain.text();
  expect(plain.headers.get("strict-transport-security")).toBeNull();
});

test("a stream that is broken off never looks like one that has ended, over HTTP/1.0 neither", async () => {
  await using node = await addNode();
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await using reader = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
  await using old = await open(node.url);
  old.write(rawGet(`${path}/events`, authorization(), "1.0"));
  await once(old, "data");
  const oldEnd = untilEnd(old);
  node.delivery.drain();
  expect(await reader.ended).toBe("broken");
  expect((await oldEnd).end).toBe("reset");
});

test("what is not TLS gets no answer, and a handshake or a request that does not arrive in time is closed", async () => {
  await using node = await addNode({ arrivalMs: 5_000 });
  const { port } = new URL(node.url);
  const plain = [rawGet("/", {}), "", "\x16\x03\x01\x02\x00\x01"].map(async (bytes) => {
    const socket = connectTcp(Number(port), "127.0.0.1");
    socket.write(bytes, "latin1");
    return (await untilEnd(socket)).text;
  });
  const secure = ["", "GET / HTT", rawGet("/", {}), "NONSENSE\r\n\r\n"].map(async (bytes) => {
    await using socket = await open(node.url);
    socket.write(bytes);
    return (await untilEnd(socket)).text.split(" ")[1];
  });
  for (const text of await Promise.all(plain)) expect(text).not.toContain("HTTP");
  expect(await Promise.all(secure)).toEqual(["408", "408", "404", "400"]);
});

test("an address has a limited number of TLS connections, those without a handshake among them", async () => {
  await using node = await addNode({ maxConnectionsPerAddress: 2 });
  const { port } = new URL(node.url);
  const silent = connectTcp(Number(port), "127.0.0.1");
  await once(silent, "connect");
  const second = await open(node.url);
  await expect(get(`${node.url}/`)).rejects.toThrow();
  second.destroy();
  silent.destroy();
  await expect.poll(() => get(`${node.url}/`).catch(() => undefined)).toMatchObject({ status: 404 });
});

test("a reader that does not read delays no other, and continues at its own pace", async () => {
  await using node = await addNode({ hubBytes: 1 });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await using slow = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
  await slow.nextFrame();
  slow.pause();
  await append(worker, ...Array.from({ length: 400 }, () => delta("x".repeat(30_000))), completed());
  await using quick = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
  expect(await quick.ended).toBe("clean");
  const metric = async (name: string) => {
    const metrics = await (await fetch(`${node.opsUrl}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)`, "m").exec(metrics)?.[1]);
  };
  // A sweep takes from memory what no reader keeps up with.
  await expect.poll(() => metric("reprise_hub_memory_bytes")).toBeLessThan(1_000_000);
  slow.resume();
  expect(await slow.ended).toBe("clean");
  expect(slow.frames).toHaveLength(402);
  expect(await metric("reprise_readers_fallen_back_total")).toBeGreaterThanOrEqual(1);
});

test("a node that closes does not wait for handshakes", async () => {
  await using node = await addNode({ drainGraceMs: 3_600_000 });
  const { port } = new URL(node.url);
  const silent = connectTcp(Number(port), "127.0.0.1");
  await once(silent, "connect");
  const closed = untilEnd(silent);
  await node.delivery.close();
  await closed;
});

test("a renewed certificate is used without a restart; streams continue, and a pair that does not fit changes nothing", async () => {
  const own = { cert: join(dir.path, "live.pem"), key: join(dir.path, "live.key") };
  const put = async (pair: Partial<typeof own>) => {
    for (const part of ["cert", "key"] as const) {
      const from = pair[part];
      if (from === undefined) continue;
      await writeFile(`${own[part]}.new`, await readFile(from));
      await rename(`${own[part]}.new`, own[part]);
    }
  };
  const fingerprintOf = async (cert: string) => new X509Certificate(await readFile(cert)).fingerprint256;
  await put(files);
  await using node = await addNode({ tls: own, certificateCheckMs: 20 });
  const { path, worker } = await createGeneration(platform);
  await append(worker, started());
  await using reader = await openSseReader(`${node.url}${path}/events`, { headers: authorization(), ca });
  expect(await fingerprintAt(node.url)).toBe(await fingerprintOf(files.cert));
  const renewed = await certificates.issue("renewed", ["127.0.0.1"]);
  await put({ cert: renewed.cert });
  await expect.poll(() => node.logged).toContain("the certificate stays as it was");
  expect(await fingerprintAt(node.url)).toBe(await fingerprintOf(files.cert));
  await put({ key: renewed.key });
  await expect.poll(() => fingerprintAt(node.url)).toBe(await fingerprintOf(renewed.cert));
  const expiresAtS = new X509Certificate(await readFile(renewed.cert)).validToDate.getTime() / 1_000;
  expect(await (await fetch(`${node.opsUrl}/metrics`)).text()).toContain(
    `\nreprise_certificate_expires_timestamp_seconds ${expiresAtS}\n`,
  );
  expect(node.logged.match(/the certificate stays as it was/g)).toHaveLength(1);
  expect(node.logged).not.toContain("PRIVATE KEY");
  await append(worker, completed());
  expect(await reader.ended).toBe("clean");
});

test("a certificate that can't be used is refused with its path", async () => {
  const other = await certificates.issue("other", ["127.0.0.1"]);
  const refused = { code: "config_invalid", message: expect.stringContaining(files.cert) };
  await expect(readCertificate({ cert: files.cert, key: other.key })).rejects.toMatchObject(refused);
  await expect(readCertificate({ cert: files.cert, key: join(dir.path, "none") })).rejects.toMatchObject(
    refused,
  );
  await expect(addNode({ tls: { cert: files.cert, key: files.cert } })).rejects.toMatchObject(refused);
});
