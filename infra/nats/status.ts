// `npm run nats -- status`: whether every stream has its leader and all its replicas.
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { connectBroker, isWhole, readStreamHealth, type StreamHealth } from "@reprise/broker";
import { findBrokerAddress } from "@reprise/runtime";

export const STATUS_USAGE = `npm run nats -- status [--wait]   lists all streams with their leaders, and servers that lack something; ends with 1 unless all is there
  --wait                      asks every second until all is there`;

const EVERY_MS = 1_000;

/** @returns whether every stream is whole */
export async function status(
  args: readonly string[],
  { env, print }: { env: Readonly<Record<string, string | undefined>>; print: (line: string) => void },
): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { wait: { type: "boolean", default: false } } });
  const address = await findBrokerAddress(env);
  if (!address) throw new Error("Which broker? Set REPRISE_NATS_URL, or start npm start.");
  await using broker = await connectBroker({ ...address, user: "admin", name: "status" });
  for (;;) {
    const streams = await readStreamHealth(broker.bulk).catch((error: unknown) => {
      if (!values.wait) throw error;
      return [];
    });
    const isAll = streams.length > 0 && streams.every(isWhole);
    if (isAll || !values.wait) {
      for (const stream of streams) print(describe(stream));
      print(
        isAll ? "Every stream is whole." : `Not whole: ${streams.filter((one) => !isWhole(one)).length}.`,
      );
      return isAll;
    }
    await pause(EVERY_MS);
  }
}

function describe({ name, replicas, messages, leader, lagging }: StreamHealth): string {
  const missing = lagging.map(({ server, why }) => `${server} ${why}`).join(", ");
  const facts = leader === undefined ? "NO LEADER" : `R${replicas} ${messages} messages, leader ${leader}`;
  return `${name.padEnd(16)} ${facts}${missing === "" ? "" : `; ${missing}`}`;
}
