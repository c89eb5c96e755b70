import { startTestBroker } from "@reprise/testkit";
import { accountsOf, type BrokerUser, type Broker, connectBroker, openBroker } from "@reprise/broker";
import { SHARDS } from "./world.ts";

export const TOPOLOGY = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };

const loginOf = (user: BrokerUser) => ({ user, password: user });
/** By the name of the user. */
export const LOGINS = {
  delivery: loginOf("delivery"),
  "inference-worker": loginOf("inference-worker"),
  moderation: loginOf("moderation"),
  "audit-log": loginOf("audit-log"),
  analytics: loginOf("analytics"),
  admin: loginOf("admin"),
};

/** A real broker with the platform's users, and nothing in it. */
export async function startWithUsers() {
  await using stack = new AsyncDisposableStack();
  const extraConfig = { accounts: accountsOf(LOGINS, { shards: SHARDS }) };
  const { url } = stack.use(await startTestBroker({ extraConfig }));
  const addressOf = (user: BrokerUser) => ({ url, access: { user, password: user }, user, name: user });
  const kept = stack.move();
  return {
    /** @param holder the process that has this user's credentials; by default the user's own */
    connect: (user: BrokerUser, holder = user): Promise<Broker> =>
      connectBroker({ ...addressOf(user), user: holder }),
    open: (user: BrokerUser, topology = TOPOLOGY): Promise<Broker> =>
      openBroker({ ...addressOf(user), ...topology }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
