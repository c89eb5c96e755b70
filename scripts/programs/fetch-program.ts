import { parseEnvironment } from "@reprise/service";
import { readAptSources } from "../debian/apt-sources.ts";
import { type AptSourceFile, deriveDebianSources } from "../debian/debian-sources.ts";
import { fetchPrograms, SUITE } from "../debian/fetch-programs.ts";
import { fetchRelease, type FetchOptions } from "../releases/fetch-release.ts";
import type { Release } from "../releases/releases.ts";
import type { Machine } from "./machine.ts";

/**
 * Puts the programs of a release into `<dataDir>/bin`: on Debian out of the machine's own archive, whose newer suite has them, and
 * elsewhere out of the release that their project publishes.
 *
 * @throws Error that says why not
 */
export async function fetchProgram(
  release: Release,
  dataDir: string,
  machine: Machine,
  limits: Pick<FetchOptions, "stallMs"> = {},
): Promise<void> {
  const { name, version, programs } = release;
  if (usesDebianArchive(machine, await readAptSources())) {
    console.error(`Fetching ${name} from this machine's Debian archive…`);
    return fetchPrograms(programs, dataDir);
  }
  const variable = "REPRISE_DOWNLOAD_URL";
  const { REPRISE_DOWNLOAD_URL: baseUrl } = parseEnvironment({ [variable]: process.env[variable] }, [
    variable,
  ]);
  console.error(`Fetching ${name} ${version} from ${new URL(baseUrl).host}…`);
  return fetchRelease(release, dataDir, { baseUrl, ...machine, ...limits });
}

/** Whether a machine is of Debian, or of a descendant with its archive. Ubuntu has its own: what looks like Debian's there is a vendor's. */
export function usesDebianArchive({ ids }: Machine, sources: readonly AptSourceFile[]): boolean {
  if (!ids.includes("debian") || ids.includes("ubuntu")) return false;
  return deriveDebianSources(sources, SUITE) !== "";
}
