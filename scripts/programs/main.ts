// Prints the path of a nats-server that is new enough, after fetching one into the data folder if there is none.
import { ensureNatsServer } from "./nats-server.ts";

try {
  console.log(await ensureNatsServer(process.argv[2] ?? ".reprise"));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
