import type { ApiError } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { RepriseError } from "@reprise/protocol";

const REMOVE = "$JS.API.SERVER.REMOVE";
const PING = "$SYS.REQ.SERVER.PING";
const TIMEOUT_MS = 10_000;
/** Servers that have not answered after so long count as away. */
const PING_MS = 2_000;

/**
 * Has a cluster count without a server that will not come back under its name: it is no peer any more, and other servers take its replicas, where
 * there are any that have none of the stream. A server that answers is not removed: it would lose its replicas while it runs.
 * @param connection as a user of the system account
 * @throws RepriseError `config_invalid` for a server that answers, or that the cluster does not know; `broker_unavailable` without an answer, as from
 *   a cluster without a quorum, or to a user of another account
 */
export async function removeServer(connection: NatsConnection, name: string): Promise<void> {
  if ((await listServers(connection)).includes(name))
    throw new RepriseError("config_invalid", `The server ${name} answers: stop it first.`);
  const reply = await connection
    .request(REMOVE, JSON.stringify({ peer: name }), { timeout: TIMEOUT_MS })
    .catch((cause: unknown) => {
      const message =
        "No answer to the removal: the cluster has no quorum, or this user is not of the system account.";
      throw new RepriseError("broker_unavailable", message, { cause });
    });
  const { error } = reply.json<{ error?: ApiError }>();
  if (error)
    throw new RepriseError("config_invalid", `The cluster does not remove ${name}: ${error.description}.`);
}

/** Names of the servers that answer. */
async function listServers(connection: NatsConnection): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const reply of await connection.requestMany(PING, "", { strategy: "timer", maxWait: PING_MS }))
      names.push(reply.json<{ server: { name: string } }>().server.name);
  } catch (cause) {
    throw new RepriseError("broker_unavailable", "No server answers to this user.", { cause });
  }
  return names;
}
