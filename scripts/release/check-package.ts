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
import type { Lockfile } from "./versions.ts";

export interface PackageCheckOptions extends ReleaseCheckOptions {
  readonly workspaces: readonly Workspace[];
  readonly lock: Lockfile;
}

/** Packs a public workspace, and looks at the package as those who install it do. */
export async function checkPackage(workspace: Workspace, options: PackageCheckOptions): Promise<boolean> {
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
    if (!isPacked) return false;
    const published = JSON.parse(await readFile(join(unpacked, "package.json"), "utf8")) as SbomSubject;
    const { packages } = findRuntimePackages({ packages: { ...lock.packages, [name]: published } }, [name]);
    const dependencies = new Map([...packages].filter(([path]) => path !== name));
    const passed = [
      await runStep(
        "sbom",
        () => {
          const { license = "", dependencies: direct = {} } = published;
          const subject = { name, version, license, dependencies: direct };
          return writeSbom(file.replace(/\.tgz$/, ".cdx.json"), {
            subject,
            type: "library",
            packages: dependencies,
          });
        },
        say,
      ),
      await runStep("size", () => checkSize(unpacked), say),
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
      await checkConsumers({ root, file, tools, say, dependencies: [...dependencies.keys()] }),
    ];
    return passed.every(Boolean);
  } finally {
    await rm(temporary, { recursive: true });
  }
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
