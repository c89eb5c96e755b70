// `npm run nats -- remove-server`: the step after the loss of a server that comes back under another name, or never.
import { parseArgs } from "node:util";
import { connectBroker, removeServer } from "@reprise/broker";
import { findBrokerAddress } from "@reprise/runtime";

export const REMOVE_SERVER_USAGE = `npm run nats -- remove-server <name>
                              has the cluster count without a server that is away and won't come back under this name, such as nats-2,
                              as the user operator: REPRISE_NATS_NKEY=…/keys/operator.nk`;

export async function removeLostServer(
  args: readonly string[],
  { env, print }: { env: Readonly<Record<string, string | undefined>>; print: (line: string) => void },
): Promise<void> {
  const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new Error("Name one server.");
  const address = await findBrokerAddress(env);
  if (!address) throw new Error("Which broker? Set REPRISE_NATS_URL.");
  await using broker = await connectBroker({ ...address, name: "remove-server" });
  await removeServer(broker.main, name);
  print(`${name} is removed. Other servers take its replicas: npm run nats -- status --wait`);
}
