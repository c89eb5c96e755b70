import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ENVIRONMENT_TABLE, METRICS } from "@reprise/runtime";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readComposeFile } from "../containers/testing/compose-file.ts";
import { MANIFESTS, ROOT } from "./manifests.ts";

interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path?: string }[];
  readonly images?: readonly { readonly name: string; readonly newTag: string }[];
}

test("manifests set only variables that services know", () => {
  const known = new Set<string>(ENVIRONMENT_TABLE.map(({ name }) => name));
  const named = Object.values(MANIFESTS).flatMap(
    (text) => text.match(/(?<=name: |- )REPRISE_[A-Z0-9_]+/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("scalers query only metrics that services have", () => {
  const scalers = MANIFESTS["infra/kubernetes/components/keda/scaled-objects.yml"]!;
  const named = [...scalers.matchAll(/^ +query: .+$/gm)].flatMap(
    ([query]) => query.match(/reprise_\w+/g) ?? [],
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !(name in METRICS))).toEqual([]);
});

test("kustomizations name files and folders that exist", () => {
  const named = Object.entries(MANIFESTS)
    .filter(([path]) => path.endsWith("/kustomization.yml"))
    .flatMap(([path, text]) => {
      const { resources = [], components = [], patches = [] } = parse(text) as Kustomization;
      const paths = [...resources, ...components, ...patches.flatMap((patch) => patch.path ?? [])];
      return paths.map((name) => join(dirname(path), name));
    });
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("NATS and Redis have the images of docker-compose.yml", () => {
  const { services } = readComposeFile();
  const { images = [] } = parse(MANIFESTS["infra/kubernetes/base/kustomization.yml"]!) as Kustomization;
  expect(images.map(({ name, newTag }) => `${name}:${newTag}`)).toEqual(
    [services["nats-1"], services["redis"]].map((service) =>
      service?.image.replace("docker.io/library/", ""),
    ),
  );
});
