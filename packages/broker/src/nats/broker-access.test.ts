import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import {
  createTempDir,
  createTestCertificates,
  PATIENCE_MS,
  startStoredBroker,
  type TestCertificates,
} from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BrokerAccess, hostsOf, toAccessOptions } from "./broker-access.ts";
import { watchConnection } from "./watch-connection.ts";
import { openBroker } from "../topology/topology.ts";

const stack = new AsyncDisposableStack();
let dir: string;
let certificates: TestCertificates;
let server: { cert: string; key: string };
let client: { cert: string; key: string };

beforeAll(async () => {
  dir = stack.use(await createTempDir("access")).path;
  certificates = await createTestCertificates(dir);
  server = await certificates.issue("server", ["broker.test", "127.0.0.1"]);
  client = await certificates.issue("client", ["client"]);
});
afterAll(() => stack.disposeAsync());

const TOPOLOGY = { shards: 1, replicas: 1, retentionMs: 3_600_000 };

/** Opens a broker with everything a service begins with, and closes it. Rejects as the service's start would. */
async function enter(url: string, access: BrokerAccess = {}): Promise<void> {
  await using _ = await openBroker({ url, access, name: "test", ...TOPOLOGY });
}

const withLogin = (url: string, login: string) => url.replace("://", `://${login}@`);
const file = async (name: string, content: string) => {
  const path = join(dir, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
};
const REFUSED = { code: "broker_unavailable", message: expect.stringContaining("refuses the credentials") };

describe("a broker with passwords and nkeys", () => {
  const user = nkeys.createUser();
  const password = "p@ss:w/rd,%";
  const start = () =>
    startStoredBroker({
      extraConfig: {
        authorization: { users: [{ user: "reprise", password }, { nkey: user.getPublicKey() }] },
      },
    });

  test("lets in with user and password in the URL or beside it, and with an nkey; refuses all others, and says why", async () => {
    await using broker = await start();
    const { url } = broker;
    await enter(withLogin(url, `reprise:${encodeURIComponent(password)}`));
    await enter(url, { user: "reprise", password });
    await enter(url, { nkeyFile: await file("user.nk", `${new TextDecoder().decode(user.getSeed())}\n`) });
    await expect(enter(url)).rejects.toMatchObject(REFUSED);
    await expect(enter(withLogin(url, "reprise:wrong"))).rejects.toMatchObject(REFUSED);
    const other = new TextDecoder().decode(nkeys.createUser().getSeed());
    await expect(enter(url, { nkeyFile: await file("other.nk", other) })).rejects.toMatchObject(REFUSED);
  });

  test.each(["", "no seed"])(
    "is entered again while the nkey's file holds %j, with what it held",
    async (content) => {
      await using broker = await start();
      const nkeyFile = await file("rotated.nk", new TextDecoder().decode(user.getSeed()));
      await using connected = await openBroker({
        url: broker.url,
        access: { nkeyFile },
        name: "test",
        ...TOPOLOGY,
      });
      const back = Promise.withResolvers<string>();
      watchConnection(connected.main, { onUp: () => back.resolve("back") });
      void connected.main.closed().then(() => back.resolve("closed for good"));
      await file("rotated.nk", content);
      await broker.restart();
      expect(await back.promise).toBe("back");
    },
  );

  test("is told nothing but hosts in the message of a refusal", async () => {
    await using broker = await start();
    const failure = await enter(withLogin(broker.url, "reprise:wrong")).catch(
      (error: Error) => error.message,
    );
    expect(failure).toContain(`127.0.0.1:${broker.port}`);
    expect(failure).not.toMatch(/wrong|@/);
  });
});

test("a broker with a token lets in with it, in the URL or beside it", async () => {
  const token = randomBytes(16).toString("hex");
  await using broker = await startStoredBroker({ extraConfig: { authorization: { token } } });
  await enter(withLogin(broker.url, token));
  await enter(broker.url, { token });
  await expect(enter(broker.url, { token: "wrong" })).rejects.toMatchObject(REFUSED);
});

/** A claim of NATS's decentralised JWTs, signed as its servers check it. */
function encodeJwt(issuer: nkeys.KeyPair, subject: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const body = {
    jti: randomBytes(8).toString("hex"),
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    sub: subject,
  };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ ...body, name: "test", nats: { version: 2, ...claims } })}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}

test("a broker with operators and accounts lets in with a creds file, and with the one that has taken its place", async () => {
  const [operator, account, user, next] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createUser(),
    nkeys.createUser(),
  ];
  const open = -1;
  const limits = {
    subs: open,
    data: open,
    payload: open,
    imports: open,
    exports: open,
    wildcards: true,
    conn: open,
    leaf: open,
  };
  const storage = { mem_storage: open, disk_storage: open, streams: open, consumer: open };
  const system = nkeys.createAccount().getPublicKey();
  const accountJwt = (key: string, granted: object) =>
    encodeJwt(operator, key, { type: "account", limits: granted });
  const creds = (keys: nkeys.KeyPair) => {
    const jwt = encodeJwt(account, keys.getPublicKey(), {
      type: "user",
      subs: open,
      data: open,
      payload: open,
    });
    const seed = new TextDecoder().decode(keys.getSeed());
    const block = (what: string, content: string) =>
      `-----BEGIN ${what}-----\n${content}\n------END ${what}------\n`;
    return `${block("NATS USER JWT", jwt)}\n${block("USER NKEY SEED", seed)}`;
  };
  await using broker = await startStoredBroker({
    extraConfig: {
      operator: encodeJwt(operator, operator.getPublicKey(), { type: "operator", system_account: system }),
      resolver: "MEMORY",
      resolver_preload: {
        [account.getPublicKey()]: accountJwt(account.getPublicKey(), { ...limits, ...storage }),
        [system]: accountJwt(system, limits),
      },
    },
  });
  const credsFile = await file("user.creds", creds(user));
  await enter(broker.url, { credsFile });
  await using connected = await openBroker({
    url: broker.url,
    access: { credsFile },
    name: "test",
    ...TOPOLOGY,
  });
  await file("user.creds", creds(next));
  const back = new Promise<void>((onUp) => watchConnection(connected.main, { onUp }));
  await broker.restart();
  await back;
  const who = await connected.main.request("$SYS.REQ.USER.INFO", "", { timeout: PATIENCE_MS });
  expect(who.json()).toMatchObject({ data: { user: next.getPublicKey() } });
  const stranger = encodeJwt(nkeys.createAccount(), user.getPublicKey(), { type: "user" });
  await file("user.creds", creds(user).replace(/^ey.*$/m, stranger));
  await expect(enter(broker.url, { credsFile })).rejects.toMatchObject(REFUSED);
});

describe("a broker with TLS", () => {
  const tls = () => ({ cert_file: server.cert, key_file: server.key, ca_file: certificates.ca });
  const asked = (url: string) => url.replace("nats://", "tls://");

  test("is trusted by the authority that is named, and is refused by any other", async () => {
    await using broker = await startStoredBroker({ extraConfig: { tls: tls() } });
    await enter(asked(broker.url), { caFile: certificates.ca });
    await enter(broker.url, { caFile: certificates.ca });
    const { ca } = await createTestCertificates(join(dir, "other"));
    for (const access of [{}, { caFile: ca }])
      await expect(enter(asked(broker.url), access)).rejects.toMatchObject({
        code: "broker_unavailable",
        message: expect.stringContaining("certificate is not trusted"),
      });
  });

  test("is refused when its certificate is for another address", async () => {
    const elsewhere = await certificates.issue("elsewhere", ["broker.test", "localhost", "127.0.0.2"]);
    await using broker = await startStoredBroker({
      extraConfig: { tls: { cert_file: elsewhere.cert, key_file: elsewhere.key } },
    });
    await expect(enter(asked(broker.url), { caFile: certificates.ca })).rejects.toMatchObject({
      message: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });

  test("that asks for the client's certificate gets it", async () => {
    await using broker = await startStoredBroker({ extraConfig: { tls: { ...tls(), verify: true } } });
    const access = { caFile: certificates.ca };
    await enter(asked(broker.url), { ...access, certFile: client.cert, keyFile: client.key });
  });

  test("from the first byte on is spoken to like that", async () => {
    await using broker = await startStoredBroker({
      extraConfig: { tls: { ...tls(), handshake_first: true } },
    });
    await enter(broker.url, { caFile: certificates.ca, tlsFirst: true });
  });
});

test("TLS that is asked for is never left out: a broker without it is refused before it is sent a password", async () => {
  await using broker = await startStoredBroker();
  for (const url of [
    broker.url.replace("nats:", "tls:"),
    `${broker.url},${broker.url.replace("nats:", "tls:")}`,
  ])
    await expect(enter(withLogin(url, "").replace("//@", "//"))).rejects.toMatchObject({
      code: "broker_unavailable",
      message: expect.stringContaining("does not support 'tls'"),
    });
  await expect(enter(broker.url, { caFile: certificates.ca })).rejects.toThrow("does not support 'tls'");
  await expect(enter(broker.url, { tlsFirst: true })).rejects.toThrow(/ERR_SSL/);
});

test.each<[string, string, BrokerAccess]>([
  ["two users", "nats://a:b@h:1,nats://c:d@h:2", {}],
  ["a user in the URL and another beside it", "nats://a:b@h:1", { user: "c", password: "d" }],
  ["a token and a creds file", "nats://h:1", { token: "t", credsFile: "package.json" }],
  ["a certificate without its key", "nats://h:1", { certFile: "package.json" }],
  ["a password without a user", "nats://h:1", { password: "secret" }],
  ["a file that is not there", "nats://h:1", { caFile: "/nowhere/ca.pem" }],
  ["what is no URL", "nats://a:secret@:x", {}],
])("%s is a wrong configuration, and no secret is repeated", async (_what, url, access) => {
  const failure = await toAccessOptions({ url, access }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "config_invalid" });
  expect(String(failure)).not.toContain("secret");
});

test("messages name hosts, never credentials", () => {
  expect(hostsOf("nats://u:p@h:1, tls://token@[::1]:2,nats://x:p@ss@h3")).toBe("h:1,[::1]:2,h3");
  expect(hostsOf("nats://h:1,h2")).toBe("h:1,h2");
});

test.each(["reprise:hunter%zz2", "hunter%2", "reprise:hunter2%ff"])(
  "credentials that are not percent-encoded are refused without being repeated: %s",
  async (login) => {
    const error: unknown = await toAccessOptions({ url: `nats://${login}@127.0.0.1:4222` }).catch(
      (refused: unknown) => refused,
    );
    expect(error).toMatchObject({ code: "config_invalid", message: expect.stringContaining("%25") });
    expect(String((error as Error).stack)).not.toContain("hunter");
  },
);
