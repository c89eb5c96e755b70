import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { BROKER_ADDRESS_NAMES, brokerAddressOf, findBrokerAddress } from "./broker-address.ts";
import { parseEnvironment } from "../environment/environment.ts";
import { writeOwnBrokerFile } from "./own-broker-file.ts";

const OWN = "nats://reprise:secret@127.0.0.1:4222";
const access = expect.anything() as object;

test("every way in that the environment can name reaches the connection", () => {
  const env = {
    REPRISE_NATS_URL: "tls://a:4222,tls://b:4222",
    REPRISE_NATS_USER: "user",
    REPRISE_NATS_PASSWORD: " pass word ",
    REPRISE_NATS_TOKEN: "token",
    REPRISE_NATS_CREDS: "user.creds",
    REPRISE_NATS_NKEY: "user.nk",
    REPRISE_NATS_CA: "ca.pem",
    REPRISE_NATS_CERT: "client.pem",
    REPRISE_NATS_KEY: "client.key",
    REPRISE_NATS_TLS_FIRST: "on",
  };
  expect(brokerAddressOf(parseEnvironment(env, BROKER_ADDRESS_NAMES))).toEqual({
    url: "tls://a:4222,tls://b:4222",
    access: {
      user: "user",
      password: " pass word ",
      token: "token",
      credsFile: "user.creds",
      nkeyFile: "user.nk",
      caFile: "ca.pem",
      certFile: "client.pem",
      keyFile: "client.key",
      tlsFirst: true,
    },
  });
  expect(brokerAddressOf(parseEnvironment({}, BROKER_ADDRESS_NAMES))).toBeUndefined();
});

test("a command enters the broker of the `npm start` beside it with that one's credentials, and no other", async () => {
  await using dir = await createTempDir("own-broker");
  const env = { REPRISE_DATA_DIR: dir.path };
  const find = (named?: string) => findBrokerAddress(env, named);
  expect(await find()).toBeUndefined();
  {
    await using _ = await writeOwnBrokerFile(dir.path, OWN);
    expect((await stat(join(dir.path, "nats.json"))).mode & 0o777).toBe(0o600);
    expect(await find()).toEqual({ url: OWN });
    expect(await find("nats://localhost:4222")).toEqual({ url: OWN, access });
    expect(await find("nats://127.0.0.1:4223")).toEqual({ url: "nats://127.0.0.1:4223", access });
  }
  expect(await find()).toBeUndefined();
});

test("credentials that a killed `npm start` has left behind are not used", async () => {
  await using dir = await createTempDir("own-broker");
  await using _ = await writeOwnBrokerFile(dir.path, OWN);
  const file = join(dir.path, "nats.json");
  const left = JSON.parse(await readFile(file, "utf8")) as object;
  await writeFile(file, JSON.stringify({ ...left, started: "long ago" }));
  expect(await findBrokerAddress({ REPRISE_DATA_DIR: dir.path })).toBeUndefined();
});
