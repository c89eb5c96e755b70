import { findNatsServer } from "@reprise/service";
import { WrongSumError } from "../releases/download.ts";
import { NATS_SERVER, type Release } from "../releases/releases.ts";
import { fetchProgram } from "./fetch-program.ts";
import { installCommand } from "./install-command.ts";
import { type Machine, readMachine } from "./machine.ts";

/**
 * The path of a nats-server that is new enough, after fetching one into the data folder where there is none.
 *
 * @param options `release`: what is fetched where there is no Debian archive; `machine`: this one, unless said otherwise
 * @throws Error that says what to install by hand
 */
export async function ensureNatsServer(
  dataDir: string,
  { release = NATS_SERVER, machine }: { release?: Release; machine?: Machine } = {},
): Promise<string> {
  try {
    return (await findNatsServer(process.env, dataDir)).path;
  } catch (error) {
    // A named binary is used or fails; no other takes its place.
    if (process.env["REPRISE_NATS_SERVER"]) throw error;
  }
  const here = machine ?? (await readMachine());
  try {
    await fetchProgram(release, dataDir, here);
  } catch (error) {
    const isReleaseTrusted = !(error instanceof WrongSumError);
    throw new Error(
      [
        `nats-server can't be fetched: ${error instanceof Error ? error.message : String(error)}.`,
        "Install nats-server 2.12 or newer, so that it is on PATH, or name its binary in REPRISE_NATS_SERVER. Here:",
        `  ${installCommand(here, ["nats-server"], { isReleaseTrusted })}`,
      ].join("\n"),
      { cause: error },
    );
  }
  return (await findNatsServer(process.env, dataDir)).path;
}
