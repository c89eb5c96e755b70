import { startTestBroker } from "@reprise/testkit";
import { BROKER_USERS, type BrokerUser } from "../access/broker-user.ts";
import { permissionsOf } from "../access/permissions.ts";
import { type Broker, connectBroker } from "../nats/connection.ts";
import { openBroker } from "../topology/open-broker.ts";
import { SHARDS } from "./world.ts";

export const TOPOLOGY = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };

/** A real broker with the platform's users, and nothing in it. */
export async function startWithUsers() {
  const toUser = (user: BrokerUser) => ({
    user,
    password: user,
    permissions: permissionsOf(user, { shards: SHARDS }),
  });
  await using stack = new AsyncDisposableStack();
  const extraConfig = { authorization: { users: BROKER_USERS.map(toUser) } };
  const { url } = stack.use(await startTestBroker({ extraConfig }));
  const addressOf = (user: BrokerUser) => ({ url, access: { user, password: user }, user, name: user });
  const kept = stack.move();
  return {
    connect: (user: BrokerUser): Promise<Broker> => connectBroker(addressOf(user)),
    open: (user: BrokerUser, topology = TOPOLOGY): Promise<Broker> =>
      openBroker({ ...addressOf(user), ...topology }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
