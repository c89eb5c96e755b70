import type { BrokerAddress } from "@reprise/broker";
import { type Environment, parseEnvironment } from "../environment/environment.ts";
import { findOwnBroker } from "./own-broker-file.ts";

/** The environment variables with the broker's address and credentials. */
export const BROKER_ADDRESS_NAMES = [
  "REPRISE_NATS_URL",
  "REPRISE_NATS_USER",
  "REPRISE_NATS_PASSWORD",
  "REPRISE_NATS_TOKEN",
  "REPRISE_NATS_CREDS",
  "REPRISE_NATS_NKEY",
  "REPRISE_NATS_CA",
  "REPRISE_NATS_CERT",
  "REPRISE_NATS_KEY",
  "REPRISE_NATS_TLS_FIRST",
] as const;

type AddressEnvironment = Environment<(typeof BROKER_ADDRESS_NAMES)[number]>;
type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** Returns the broker's address from the environment, as `packages/stream` takes it. Undefined if there is none. */
export function brokerAddressOf(
  env: AddressEnvironment & { readonly REPRISE_NATS_URL: readonly string[] },
): BrokerAddress;
export function brokerAddressOf(env: AddressEnvironment): BrokerAddress | undefined;
export function brokerAddressOf(env: AddressEnvironment): BrokerAddress | undefined {
  return env.REPRISE_NATS_URL && { url: env.REPRISE_NATS_URL.join(","), access: accessOf(env) };
}

/**
 * The broker that a command is to use: the one that is named, else the environment's. One without credentials that is the running
 * `npm start`'s own is entered with those that it left in the data folder; where none is named, that broker is the default.
 * @param named in the command's arguments
 * @throws RepriseError `config_invalid`
 */
export function findBrokerAddress(env: ProcessEnvironment, named: string): Promise<BrokerAddress>;
export function findBrokerAddress(
  env: ProcessEnvironment,
  named?: string,
): Promise<BrokerAddress | undefined>;
export async function findBrokerAddress(
  env: ProcessEnvironment,
  named?: string,
): Promise<BrokerAddress | undefined> {
  const parsed = parseEnvironment({ ...env, ...(named !== undefined && { REPRISE_NATS_URL: named }) }, [
    ...BROKER_ADDRESS_NAMES,
    "REPRISE_DATA_DIR",
  ]);
  const address = brokerAddressOf(parsed);
  const own = await findOwnBroker(parsed.REPRISE_DATA_DIR);
  if (address === undefined) return own === undefined ? undefined : { url: own };
  return own !== undefined && hostOf(own) === hostOf(address.url) ? { ...address, url: own } : address;
}

function accessOf(env: AddressEnvironment): BrokerAddress["access"] {
  return {
    user: env.REPRISE_NATS_USER,
    password: env.REPRISE_NATS_PASSWORD,
    token: env.REPRISE_NATS_TOKEN,
    credsFile: env.REPRISE_NATS_CREDS,
    nkeyFile: env.REPRISE_NATS_NKEY,
    caFile: env.REPRISE_NATS_CA,
    certFile: env.REPRISE_NATS_CERT,
    keyFile: env.REPRISE_NATS_KEY,
    tlsFirst: env.REPRISE_NATS_TLS_FIRST === "on",
  };
}

function hostOf(url: string): string | undefined {
  return URL.parse(url)?.host.replace(/^localhost\b/, "127.0.0.1");
}
