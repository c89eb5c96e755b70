import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createSecretFile } from "@reprise/runtime";

/** Profiles of docker-compose.yml that change what services are told. */
export const PROFILES = ["full", "s3", "observability"] as const;
export type Profile = (typeof PROFILES)[number];

/** In the operator's volume: a file for each profile that was ever chosen, and one once settings were made. */
const FOLDER = "profiles";
const MADE = "made";

export function isProfile(name: string | undefined): name is Profile {
  return (PROFILES as readonly (string | undefined)[]).includes(name);
}

export async function readProfiles(operator: string): Promise<ReadonlySet<Profile>> {
  return new Set((await read(operator)).filter(isProfile));
}

/**
 * Chooses a profile for good.
 * @throws Error where services have data that the profile would leave behind
 */
export async function chooseProfile(operator: string, profile: Profile): Promise<void> {
  const names = await read(operator);
  if (names.includes(profile)) return;
  if (profile !== "observability" && names.includes(MADE))
    throw new Error(
      `The volumes were made without the profile ${profile}, and data in them is not moved. ` +
        "Either remove them (docker compose down --volumes), or move as docs/operations/containers.md says.",
    );
  await createSecretFile(join(operator, FOLDER, profile), profile);
}

/**
 * Chooses a profile for volumes of a backup, in a new project: its streams are restored for that profile.
 *
 * @param volumes the folder with all volumes
 * @throws Error where the project has streams
 */
export async function moveToProfile(volumes: string, profile: Profile): Promise<void> {
  const store = await readdir(join(volumes, "nats-1"));
  if (store.length > 0)
    throw new Error(
      "The volume of nats-1 is not empty. Move into a new project, as docs/operations/containers.md says.",
    );
  await createSecretFile(join(volumes, "operator", FOLDER, profile), profile);
}

/** From now on profiles that would leave data behind are refused. */
export async function closeProfiles(operator: string): Promise<void> {
  await createSecretFile(join(operator, FOLDER, MADE), MADE);
}

async function read(operator: string): Promise<string[]> {
  return readdir(join(operator, FOLDER)).catch(() => []);
}
