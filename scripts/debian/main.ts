// Prints the path of a nats-server that is new enough, after fetching one into the data folder where there is none.
import { ensureNatsServer } from "./ensure-nats-server.ts";

const [dataDir = ".reprise"] = process.argv.slice(2);

try {
  console.log(await ensureNatsServer(dataDir));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
