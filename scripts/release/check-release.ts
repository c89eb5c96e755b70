import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  findPublic,
  isPublic,
  readManifest,
  readWorkspaces,
  type Workspace,
} from "../pack/public-packages.ts";
import { readChangelog } from "./changelog.ts";
import { checkPackage, type CheckedPackage } from "./check-package.ts";
import type { Tools } from "./install-tools.ts";
import { ALLOWED_LICENCES, readLicences } from "./licences.ts";
import { findRuntimePackages } from "./runtime-packages.ts";
import { writeSbom } from "./sbom.ts";
import { type Outcome, runStep } from "./step.ts";
import { findVersionProblems, type Lockfile } from "./versions.ts";

export interface ReleaseCheckOptions {
  /** The repository. */
  readonly root: string;
  /** Where packages and bills of materials go. What is in it is removed. */
  readonly folder: string;
  /** Without them the check does without other runtimes, bundlers and compilers, and needs no registry. */
  readonly tools?: Tools | undefined;
  readonly say: (line: string) => void;
}

/** Says whether this commit can be released, and makes what a release consists of. */
export async function checkRelease({ root, folder, tools, say }: ReleaseCheckOptions): Promise<boolean> {
  const manifest = readManifest(root);
  const { version } = manifest;
  const workspaces = readWorkspaces(root);
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as Lockfile;
  const changelog = await readFile(join(root, "CHANGELOG.md"), "utf8");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });

  const passed: boolean[] = [];
  const step = async (name: string, work: () => Outcome | Promise<Outcome>) =>
    void passed.push(await runStep(name, work, say));

  await step("versions", () => ({
    problems: findVersionProblems(version, workspaces, lock),
    report: [`${version} in package.json and ${workspaces.length} workspaces`],
  }));
  await step("changelog", () => {
    const { problems, entries, date = "not released yet" } = readChangelog(changelog, version);
    return { problems, report: [`${version}: ${entries} changes, ${date}`] };
  });
  await step("licences", () => checkLicences(lock, workspaces));
  await step("sbom", async () => {
    const { name, license = "" } = manifest;
    const { packages } = findRuntimePackages(lock, findDeployed(workspaces));
    const folders = [...packages.keys()].filter((path) => !path.includes("node_modules/"));
    const subject = { name, version, license, workspaces: folders };
    return writeSbom(join(folder, `${name}-${version}.cdx.json`), {
      subject,
      type: "application",
      packages,
    });
  });
  const checked: CheckedPackage[] = [];
  for (const workspace of findPublic(workspaces)) {
    say(`       ${workspace.manifest.name}`);
    const options = { root, folder, tools, say, workspaces, lock, others: checked };
    const found = await checkPackage(workspace, options);
    passed.push(found !== undefined && found.passed);
    if (found) checked.push(found);
  }
  return passed.every(Boolean);
}

/** What users run, and what public packages bring along. */
function checkLicences(lock: Lockfile, workspaces: readonly Workspace[]): Outcome {
  const handedOn = [
    ...findDeployed(workspaces),
    ...workspaces.filter(isPublic).map(({ manifest }) => `node_modules/${manifest.name}`),
  ];
  const { packages, absent } = findRuntimePackages(lock, handedOn);
  const { problems, counts } = readLicences(packages);
  const lacking = absent.map(
    (name) => `package-lock.json lacks ${name}: the systems that it is for do without`,
  );
  const found = [...counts].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
  return {
    problems: [...problems, ...lacking],
    report: [`found: ${found.join(", ")}`, `allowed: ${ALLOWED_LICENCES.join(", ")}`],
  };
}

/** Where npm links the services: the platform is what they need. */
function findDeployed(workspaces: readonly Workspace[]): string[] {
  return workspaces
    .filter(({ folder }) => folder.startsWith("services/"))
    .map(({ manifest }) => `node_modules/${manifest.name}`);
}
