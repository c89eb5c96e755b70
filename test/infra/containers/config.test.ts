import { expect, test } from "vitest";
import { PROFILES } from "../../../infra/containers/profiles.ts";
import { readComposeFile } from "../../containers/testing/compose-file.ts";
import { docker } from "./testing/docker.ts";

const { services } = readComposeFile();
/** With `minimal`, which adds nothing. */
const SETS = PROFILES.reduce<string[][]>(
  (sets, profile) => [...sets, ...sets.map((set) => [...set, profile])],
  [[], ["minimal"]],
);

test.each(SETS.map((profiles) => ({ profiles })))(
  "docker compose reads the file with the profiles $profiles, and finds the services of these",
  async ({ profiles }) => {
    // It asks no engine: none is there.
    const env = { COMPOSE_PROFILES: profiles.join(","), DOCKER_HOST: "unix:///dev/null/docker.sock" };
    await docker(["compose", "config", "--quiet"], env);
    const found = (await docker(["compose", "config", "--services"], env)).split("\n");
    const expected = Object.entries(services).flatMap(([name, service]) =>
      (service.profiles?.some((profile) => profiles.includes(profile)) ?? true) ? [name] : [],
    );
    expect(found.toSorted()).toEqual(expected.toSorted());
  },
);
