import type { ApiError } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";
import { inboxOf } from "../nats/reply-inbox.ts";
import { getStreamInfo, ifUnavailable } from "../nats/stream-api.ts";

/** Current storage of a stream. */
export interface StreamHealth {
  readonly name: string;
  readonly replicas: number;
  readonly messages: number;
  /** Undefined while it has none, which is an election, or no quorum. */
  readonly leader: string | undefined;
  /** Servers that lack something of it, and why. */
  readonly lagging: readonly { readonly server: string; readonly why: string }[];
}

const NAMES = "$JS.API.STREAM.NAMES";
const TIMEOUT_MS = 5_000;

/**
 * Every stream of the user's account, as its leader knows it.
 * @throws RepriseError `broker_unavailable` when the cluster itself has no leader
 */
export async function readStreamHealth(connection: NatsConnection): Promise<StreamHealth[]> {
  const reply = await inboxOf(connection).ask(NAMES, "", TIMEOUT_MS);
  if (typeof reply === "string")
    throw new RepriseError("broker_unavailable", `The cluster does not list its streams: ${reply}.`);
  const { streams, error } = reply.json<{ streams?: string[] | null; error?: ApiError }>();
  if (error)
    throw new RepriseError(
      "broker_unavailable",
      `The cluster does not list its streams: ${error.description}.`,
    );
  return Promise.all((streams ?? []).toSorted().map((name) => readOne(connection, name)));
}

/** True if a stream has its leader and all its replicas. */
export function isWhole({ leader, lagging }: StreamHealth): boolean {
  return leader !== undefined && lagging.length === 0;
}

async function readOne(connection: NatsConnection, name: string): Promise<StreamHealth> {
  const info = await getStreamInfo(connection, name, {}, TIMEOUT_MS).catch(ifUnavailable(undefined));
  if (!info) return { name, replicas: 0, messages: 0, leader: undefined, lagging: [] };
  const { cluster, config, state } = info;
  const lagging = (cluster?.replicas ?? [])
    .filter(({ current, offline }) => !current || offline)
    .map(({ name: server, offline }) => ({ server, why: offline ? "is away" : "is not up to date" }));
  // A server that was removed while no other one could take its place.
  for (let have = 1 + (cluster?.replicas ?? []).length; cluster && have < config.num_replicas; have++)
    lagging.push({ server: "a further server", why: "is missing" });
  // A single server is no cluster.
  const leader = cluster ? cluster.leader : "this server";
  return {
    name,
    replicas: config.num_replicas,
    messages: state.messages,
    leader: leader === "" ? undefined : leader,
    lagging,
  };
}
