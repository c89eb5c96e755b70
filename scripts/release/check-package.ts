import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { run } from "../pack/run.ts";
import { packPackage } from "../pack/pack-package.ts";
import type { Workspace } from "../pack/public-packages.ts";
import { checkConsumers } from "./consumer/check-consumers.ts";
import type { ReleaseCheckOptions } from "./check-release.ts";
import type { Tools } from "./install-tools.ts";
import { findPackageProblems } from "./package-files.ts";
import { checkSize } from "./package-size.ts";
import { findRuntimePackages } from "./runtime-packages.ts";
import { type SbomSubject, writeSbom } from "./sbom.ts";
import { type Outcome, runStep } from "./step.ts";
import type { LockedPackage, Lockfile } from "./versions.ts";

export interface PackageCheckOptions extends ReleaseCheckOptions {
  readonly workspaces: readonly Workspace[];
  readonly lock: Lockfile;
  /** Packages that were checked before: those that this one needs are among them. */
  readonly others: readonly CheckedPackage[];
}

export interface CheckedPackage {
  readonly passed: boolean;
  /** The package. */
  readonly file: string;
  /** As it is published. */
  readonly manifest: PublishedManifest;
}

type PublishedManifest = SbomSubject & LockedPackage & { readonly name: string; readonly version: string };

/**
 * Packs a public workspace, and looks at the package as those who install it do.
 * @returns undefined where it cannot be packed
 */
export async function checkPackage(
  workspace: Workspace,
  options: PackageCheckOptions,
): Promise<CheckedPackage | undefined> {
  const { root, folder, tools, say, lock } = options;
  const { name, version } = workspace.manifest;
  const temporary = await mkdtemp(join(tmpdir(), "reprise-package-"));
  try {
    const file = join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
    const unpacked = join(temporary, "package");
    const isPacked = await runStep(
      "pack",
      async () => {
        await packPackage(workspace, options);
        await run("tar", ["-xzf", file, "-C", temporary]);
        const problems = findPackageProblems({ root, folder: unpacked, version });
        return { problems: problems.map((problem) => `${name} ${problem}`), report: [await describe(file)] };
      },
      say,
    );
    // The rest would say the same once more.
    if (!isPacked) return undefined;
    const manifest = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8")) as PublishedManifest;
    const others = options.others.filter((other) => other.manifest.name in (manifest.dependencies ?? {}));
    const dependencies = findDependencies(lock, manifest, others);
    const passed = [
      await runStep(
        "sbom",
        () => {
          const { license = "", dependencies: direct = {}, peerDependencies = {} } = manifest;
          const subject = { name, version, license, dependencies: direct, peerDependencies };
          return writeSbom(file.replace(/\.tgz$/, ".cdx.json"), {
            subject,
            type: "library",
            packages: dependencies,
          });
        },
        say,
      ),
      await runStep("size", () => checkSize(name, unpacked), say),
      ...(tools === undefined
        ? []
        : [
            await runStep(
              "same again",
              () => packAgain(workspace, file, { ...options, folder: temporary }),
              say,
            ),
            await runStep("judged", () => judge(file, tools), say),
          ]),
      await checkConsumers({
        root,
        name,
        files: [...others.map((other) => other.file), file],
        tools,
        say,
        dependencies: [...dependencies.keys()].filter(
          (path) => !others.some((other) => path === toPath(other)),
        ),
      }),
    ];
    return { passed: passed.every(Boolean), file, manifest };
  } finally {
    await rm(temporary, { recursive: true });
  }
}

/** What a package needs to run, by its place in the repository. Packages of ours are as they are published. */
function findDependencies(
  lock: Lockfile,
  manifest: PublishedManifest,
  others: readonly CheckedPackage[],
): Map<string, LockedPackage> {
  const published = Object.fromEntries(others.map((other) => [toPath(other), other.manifest]));
  const known = { packages: { ...lock.packages, ...published, [manifest.name]: manifest } };
  const { packages } = findRuntimePackages(known, [manifest.name]);
  return new Map([...packages].filter(([path]) => path !== manifest.name));
}

function toPath({ manifest }: CheckedPackage): string {
  return `node_modules/${manifest.name}`;
}

async function describe(file: string): Promise<string> {
  return `${file}: ${(await readFile(file)).length} bytes, ${await digest(file)}`;
}

/** As npm and its registry write it. */
async function digest(file: string): Promise<string> {
  return `sha512-${createHash("sha512")
    .update(await readFile(file))
    .digest("base64")}`;
}

/** What is published can be compared with what anyone builds of the same commit. */
async function packAgain(workspace: Workspace, file: string, options: PackageCheckOptions): Promise<Outcome> {
  const again = await packPackage(workspace, options);
  const isSame = (await digest(again)) === (await digest(file));
  return { problems: isSame ? [] : [`${basename(file)} is another one each time that it is packed`] };
}

/** What publint and Are The Types Wrong say. Consumers that can load no modules are left out: there is no CommonJS in the package. */
async function judge(file: string, tools: Tools): Promise<Outcome> {
  const judges: [name: string, ...args: string[]][] = [
    ["publint", "run", "--strict", file],
    ["attw", "--profile", "esm-only", "--format", "ascii", "--no-color", "--no-emoji", file],
  ];
  const problems: string[] = [];
  for (const [name, ...args] of judges)
    await run(tools.bin(name), args).catch((error: Error) => problems.push(error.message));
  return { problems, report: [`clean: ${judges.map(([name]) => name).join(", ")}`] };
}
