// Prints the path of a nats-server that is new enough, after fetching one into the data folder where there is none.
import { findNatsServer } from "@reprise/service";
import { fetchNatsServer } from "./fetch-nats-server.ts";

const [dataDir = ".reprise"] = process.argv.slice(2);

try {
  console.log(await findOrFetch(dataDir));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function findOrFetch(folder: string): Promise<string> {
  try {
    return (await findNatsServer(process.env, folder)).path;
  } catch (error) {
    // A named binary is used or fails; no other takes its place.
    if (process.env["REPRISE_NATS_SERVER"]) throw error;
  }
  console.error("Fetching nats-server from this machine's Debian archive…");
  await fetchNatsServer(folder);
  return (await findNatsServer(process.env, folder)).path;
}
