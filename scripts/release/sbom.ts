import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "../pack/run.ts";
import { packageName } from "./runtime-packages.ts";
import type { Outcome } from "./step.ts";
import type { LockedPackage } from "./versions.ts";

export interface SbomSubject {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** Empty where the subject is a package of its own. */
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Component {
  /** `pkg:npm/%40scope/name@version`. Not so its name: npm gives a workspace that of its folder. */
  readonly purl: string;
}

/** A component that comes from elsewhere than npm, as CycloneDX has it. */
export interface SbomComponent extends Component {
  readonly type: "platform" | "library";
  readonly name: string;
  readonly version: string;
  readonly cpe?: string;
  readonly licenses: readonly (
    | { readonly expression: string }
    | { readonly license: { readonly id: string } | { readonly name: string } }
  )[];
  readonly externalReferences?: readonly { readonly type: "license"; readonly url: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

export interface SbomOptions {
  /** What is described. */
  readonly subject: SbomSubject;
  readonly type: "application" | "library";
  /** All that it consists of, by place on disk. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
  /** What is in it beside packages of npm. */
  readonly others?: readonly SbomComponent[];
}

/** Writes a bill of materials and compares it with what it is of. */
export async function writeSbom(file: string, options: SbomOptions): Promise<Outcome> {
  const sbom = await createSbom(options);
  await writeFile(file, sbom);
  const { components } = JSON.parse(sbom) as Sbom;
  return { problems: findSbomProblems(sbom, options), report: [`${file}: ${components.length} components`] };
}

/**
 * Makes the bill of materials, in CycloneDX's JSON, by `npm sbom` in a folder that has nothing but what is described: a manifest and a
 * lockfile without development's dependencies. What npm does not know of is added to that.
 */
async function createSbom({ subject, type, packages, others = [] }: SbomOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reprise-sbom-"));
  try {
    // npm names the subject after its folder.
    const home = join(folder, subject.name);
    const own = [...packages].map(([path, locked]): [string, LockedPackage] => {
      const { devDependencies: _dev, ...kept } = locked;
      return [path, kept];
    });
    const write = async (path: string, value: object): Promise<void> => {
      await mkdir(dirname(join(home, path)), { recursive: true });
      await writeFile(join(home, path), JSON.stringify(value));
    };
    await write("package.json", subject);
    const { name, version } = subject;
    const lockfile = {
      name,
      version,
      lockfileVersion: 3,
      packages: { "": subject, ...Object.fromEntries(own) },
    };
    await write("package-lock.json", lockfile);
    for (const [path, locked] of own.filter(([folderPath]) => !folderPath.includes("node_modules/")))
      await write(`${path}/package.json`, locked);
    const sbom = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "--sbom-type", type];
    return addComponents((await run("npm", sbom, { cwd: home })).stdout, others);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function addComponents(text: string, others: readonly SbomComponent[]): string {
  if (others.length === 0) return text;
  const sbom = JSON.parse(text) as Sbom;
  const added = others.map((other) => ({ "bom-ref": other.purl, ...other }));
  return `${JSON.stringify({ ...sbom, components: [...sbom.components, ...added] }, null, 2)}\n`;
}

/** Where a bill of materials and what it is of differ. */
export function findSbomProblems(sbom: string, { subject, packages, others = [] }: SbomOptions): string[] {
  const { bomFormat, metadata, components } = JSON.parse(sbom) as Sbom;
  const problems: string[] = [];
  if (bomFormat !== "CycloneDX") problems.push(`the format is ${bomFormat}, not CycloneDX`);
  const described = toName(metadata.component);
  if (described !== `${subject.name}@${subject.version}`)
    problems.push(`the subject is ${described}, not ${subject.name}@${subject.version}`);
  const listed = new Set(components.map(toName));
  const wanted = new Set([
    ...[...packages]
      .filter(([, { link }]) => link !== true)
      .map(([path, locked]) => `${packageName(path, locked)}@${locked.version}`),
    ...others.map(toName),
  ]);
  for (const name of wanted.difference(listed)) problems.push(`${name} is missing`);
  for (const name of listed.difference(wanted)) problems.push(`${name} is no part of it`);
  return problems.map((problem) => `SBOM of ${subject.name}: ${problem}`);
}

function toName({ purl }: Component): string {
  return decodeURIComponent(purl.replace(/^pkg:npm\//, ""));
}
