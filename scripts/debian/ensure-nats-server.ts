import { findNatsServer } from "@reprise/service";
import { fetchPrograms } from "./fetch-programs.ts";

/**
 * The path of a nats-server that is new enough, after fetching one into the data folder where there is none.
 *
 * @throws Error that says what to install by hand
 */
export async function ensureNatsServer(dataDir: string): Promise<string> {
  try {
    return (await findNatsServer(process.env, dataDir)).path;
  } catch (error) {
    // A named binary is used or fails; no other takes its place.
    if (process.env["REPRISE_NATS_SERVER"]) throw error;
  }
  console.error("Fetching nats-server from this machine's Debian archive…");
  try {
    await fetchPrograms(["nats-server"], dataDir);
  } catch (error) {
    throw new Error(
      [
        `nats-server can't be fetched: ${error instanceof Error ? error.message : String(error)}.`,
        "Install nats-server 2.12 or newer (Debian 14, Homebrew, or a release of the nats-io project), so that it is on PATH,",
        "or name its binary in REPRISE_NATS_SERVER.",
      ].join("\n"),
      { cause: error },
    );
  }
  return (await findNatsServer(process.env, dataDir)).path;
}
