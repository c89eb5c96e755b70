import {
  type JetStreamManager,
  JetStreamApiError,
  jetstreamManager,
  type StreamConfig,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { retryRejected } from "@reprise/async";
import { LEASES_STREAM, LIMITS, RepriseError, SHARDS_SUBJECTS, toRepriseError } from "@reprise/protocol";
import { isForbidden, SET_UP } from "../access/forbidden.ts";
import { assertNotWeakened } from "./assert-not-weakened.ts";
import { agreeOnShards } from "./shard-count.ts";
import { type Config, streamConfigs, type TopologyOptions } from "./stream-configs.ts";
import { isRefusal } from "../nats/jetstream-errors.ts";
import { type Broker, type BrokerOptions, connectBroker } from "../nats/connection.ts";

export type { TopologyOptions } from "./stream-configs.ts";

const OLDEST_SERVER = [2, 12] as const;
/** The largest event, its headers, and room to spare. */
const SMALLEST_MAX_PAYLOAD = LIMITS.eventBytes + 65_536;
const REQUEST_MS = 2_000;
const BUDGET_MS = 20_000;
const PAUSE_MS = 100;
/** Status of the API while it has no leader. */
const UNAVAILABLE = 503;

/**
 * Creates the streams, or brings existing ones in line, but never weakens one. Any number of processes may do it at once. Streams that are
 * as they should be are only looked at: most processes may do no more.
 * @throws RepriseError `broker_incompatible` when the server is too old, has no JetStream or allows payloads that are too small,
 *   when a stream is missing, or not as configured, and this process's user may not change that,
 *   when a stream exists in a form that can't be changed, or with more copies or a longer retention time than is asked for, or when the
 *   logs are spread over another number of shards;
 *   `broker_unavailable` when JetStream does not answer for 20 s
 */
export async function ensureTopology(connection: NatsConnection, options: TopologyOptions): Promise<void> {
  assertCompatible(connection);
  const manager = await jetstreamManager(connection, { timeout: REQUEST_MS, checkAPI: false });
  const endMs = performance.now() + BUDGET_MS;
  // A cluster that has just begun leaves requests unanswered until it has leaders: asked again soon, it answers soon.
  const insist = (task: () => Promise<void>) =>
    retryRejected(task, (error) => toRepriseError(error).retryable, {
      pauseMs: PAUSE_MS,
      budgetMs: endMs - performance.now(),
    });
  const ensure = (config: Config) => insist(() => ensureStream(manager, config));
  const configs = streamConfigs(options);
  // Before any other stream is made: that of a shard too many would stay.
  const leases = configs.filter(({ name }) => name === LEASES_STREAM);
  await Promise.all(leases.map(ensure));
  const countExisting = () => countShardStreams(manager);
  await insist(() => agreeOnShards(connection, { shards: options.shards, countExisting }));
  await Promise.all(configs.filter((config) => !leases.includes(config)).map(ensure));
}

/** Number of streams of logs. */
async function countShardStreams(manager: JetStreamManager): Promise<number> {
  try {
    const names: string[] = [];
    for await (const name of manager.streams.names(SHARDS_SUBJECTS)) names.push(name);
    return names.length;
  } catch (cause) {
    if (isForbidden(cause))
      throw new RepriseError(
        "broker_incompatible",
        `The broker keeps no number of shards, and this NATS user may not count its streams: ${SET_UP}`,
        { cause },
      );
    throw new RepriseError("broker_unavailable", "The broker does not list its streams.", { cause });
  }
}

/** @throws RepriseError `broker_incompatible` */
function assertCompatible({ info }: NatsConnection): void {
  if (!info) throw new RepriseError("broker_unavailable", "The NATS server has not introduced itself.");
  const [major = 0, minor = 0] = info.version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_SERVER;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new RepriseError(
      "broker_incompatible",
      `nats-server ${info.version} is too old: ${OLDEST_SERVER.join(".")} or later is needed.`,
    );
  }
  if (!info.jetstream)
    throw new RepriseError("broker_incompatible", "JetStream is not enabled on this NATS server.");
  if (info.max_payload < SMALLEST_MAX_PAYLOAD) {
    throw new RepriseError(
      "broker_incompatible",
      `max_payload of this NATS server is ${info.max_payload} bytes; at least ${SMALLEST_MAX_PAYLOAD} are needed, 8 MiB are recommended.`,
    );
  }
}

async function ensureStream(manager: JetStreamManager, config: Config): Promise<void> {
  try {
    const present = await presentConfig(manager, config.name);
    if (present) {
      assertNotWeakened(present, config);
      if (!contains(present, config)) await manager.streams.update(config.name, config);
    } else await manager.streams.add({ ...config, max_consumers: config.max_consumers ?? -1 });
  } catch (cause) {
    if (cause instanceof RepriseError) throw cause;
    if (isForbidden(cause))
      throw new RepriseError(
        "broker_incompatible",
        `Stream ${config.name} is missing or not as configured, and this NATS user may not change it: ${SET_UP}`,
        { cause },
      );
    if (isRefusal(cause, "noSuitablePeers"))
      throw new RepriseError(
        "broker_unavailable",
        `Stream ${config.name} needs ${config.num_replicas} servers, and the cluster does not have as many now.`,
        { cause },
      );
    if (!(cause instanceof JetStreamApiError) || cause.status === UNAVAILABLE) {
      throw new RepriseError("broker_unavailable", `Stream ${config.name} could not be set up in time.`, {
        cause,
      });
    }
    throw new RepriseError(
      "broker_incompatible",
      `Stream ${config.name} can't be brought in line: ${cause.message}.`,
      { cause },
    );
  }
}

async function presentConfig(manager: JetStreamManager, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await manager.streams.info(name)).config;
  } catch (error) {
    if (isRefusal(error, "streamNotFound")) return undefined;
    throw error;
  }
}

/** True if all the wanted values are present; values that the broker has filled in do not count. */
function contains(present: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(present) &&
      present.length === wanted.length &&
      wanted.every((item, i) => contains(present[i], item))
    );
  if (typeof wanted !== "object" || wanted === null) return present === wanted;
  if (typeof present !== "object" || present === null) return false;
  const there = new Map<string, unknown>(Object.entries(present));
  return Object.entries(wanted).every(([name, value]) => contains(there.get(name), value));
}

/**
 * Connects, and sees to it that the streams are there: how every service begins.
 * @throws RepriseError `broker_unavailable`, `broker_incompatible`; no connection is left open then
 */
export async function openBroker(options: BrokerOptions & TopologyOptions): Promise<Broker> {
  const broker = await connectBroker(options);
  try {
    await ensureTopology(broker.main, options);
    return broker;
  } catch (error) {
    await broker.close();
    throw error;
  }
}
