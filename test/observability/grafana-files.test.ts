import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

const FOLDER = join(import.meta.dirname, "../../infra/containers/grafana");

/* Grafana has no schema of these files in a package: the fields are those that its provisioning had in its sources at 13.1, as far as they are used here. */
const dataSources = z.strictObject({
  apiVersion: z.literal(1),
  datasources: z.array(
    z.strictObject({
      name: z.string().min(1),
      type: z.literal("prometheus"),
      access: z.literal("proxy"),
      url: z.url(),
      isDefault: z.boolean(),
    }),
  ),
});
const providers = z.strictObject({
  apiVersion: z.literal(1),
  providers: z.array(
    z.strictObject({
      name: z.string().min(1),
      type: z.literal("file"),
      options: z.strictObject({ path: z.string().startsWith("/") }),
    }),
  ),
});

test.each([
  ["datasources/prometheus.yml", dataSources],
  ["dashboards/reprise.yml", providers],
] as const)("%s has its fields and no others", (path, schema) => {
  const file = parse(readFileSync(join(FOLDER, path), "utf8")) as object;
  expect(schema.parse(file)).toEqual(file);
  expect(schema.safeParse({ ...file, apiversion: 1 }).success).toBe(false);
});
