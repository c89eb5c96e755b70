import { findRuntimePackages } from "../../../../scripts/release/runtime-packages.ts";
import type { Lockfile } from "../../../../scripts/release/versions.ts";

const SCOPE = "@reprise/";
const SERVICE = /^services\/[^/]+$/;

/** The folders of a lockfile's services. */
export function servicesIn({ packages }: Lockfile): readonly string[] {
  return Object.keys(packages).filter((path) => SERVICE.test(path));
}

/**
 * What services need to run of others' packages: where each lies, its version and its content. Of two lockfiles that say the same here, the services run with the packages of
 * either.
 */
export function findNeeds(lock: Lockfile): readonly string[] {
  const { packages } = findRuntimePackages(lock, servicesIn(lock));
  const needs = [...packages].flatMap(([path, { version, integrity }]) =>
    path.includes("node_modules/") && !path.includes(SCOPE) ? [`${path} ${version} ${integrity}`] : [],
  );
  return needs.toSorted();
}
