import { describe, expect, test } from "vitest";
import { readComposeFile } from "./testing/compose-file.ts";
import { composeErrors } from "./testing/compose-schema.ts";

const project = readComposeFile();

describe("docker-compose.yml", () => {
  test("has the fields of the Compose Specification", async () => {
    expect(await composeErrors(project)).toEqual([]);
  });

  test("with a field that there is not, and one of the wrong type, is refused", async () => {
    const nginx = { ...project.services["nginx"], stop_grace: "30s", cap_drop: "ALL" };
    expect(await composeErrors({ ...project, services: { ...project.services, nginx } })).toEqual([
      '/services/nginx must NOT have additional properties {"additionalProperty":"stop_grace"}',
      expect.stringContaining("/services/nginx/cap_drop must be array"),
    ]);
  });
});
