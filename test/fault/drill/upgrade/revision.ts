import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const LOCKFILE = "package-lock.json";
const WORKSPACES = ["packages", "services", "test"] as const;
const SCOPE = "@reprise";
const run = promisify(execFile);

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly integrity?: string;
  readonly dev?: boolean;
}

/**
 * The commit that a revision names.
 * @throws Error when this repository does not have it
 */
export async function findCommit(revision: string): Promise<string> {
  try {
    const { stdout } = await run("git", ["rev-parse", "--verify", "--quiet", `${revision}^{commit}`], {
      cwd: ROOT,
    });
    return stdout.trim();
  } catch {
    throw new Error(`${revision} is no commit of this repository.`);
  }
}

/**
 * The repository as it was at a commit, with what its services need to run, in a folder that is kept: where its lockfile has the same packages for that as this one, these
 * are linked; otherwise npm installs those.
 * @returns the folder
 */
export async function checkOutRevision(commit: string): Promise<string> {
  const folder = join(ROOT, ".reprise", "revisions");
  const made = join(folder, commit);
  if (await isThere(made)) return made;
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(join(folder, "draft-"));
  try {
    const archive = join(draft, "archive.tar");
    await run("git", ["archive", "--output", archive, commit], { cwd: ROOT });
    await run("tar", ["-xf", archive, "-C", draft]);
    await rm(archive);
    const [theirs, ours] = [await readLock(draft), await readLock(ROOT)];
    if (isDeepStrictEqual(findNeeds(theirs), findNeeds(ours))) await linkPackages(draft);
    else await installPackages(draft, servicesIn(theirs));
    await rename(draft, made);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was faster.
    if (await isThere(made)) return made;
    throw error;
  }
  return made;
}

/** The folders of a lockfile's services. */
function servicesIn({ packages }: Lockfile): readonly string[] {
  return Object.keys(packages).filter((path) => /^services\/[^/]+$/.test(path));
}

/** Identifies the packages of a lockfile, by their places and their content: revisions with the same packages can share them. */
function findNeeds({ packages }: Lockfile): readonly string[] {
  return Object.entries(packages)
    .flatMap(([path, { integrity, dev }]) => (integrity && !dev ? [`${path} ${integrity}`] : []))
    .toSorted();
}

async function readLock(dir: string): Promise<Lockfile> {
  return JSON.parse(await readFile(join(dir, LOCKFILE), "utf8")) as Lockfile;
}

/** What its services need, a third of what all of its tests and tools do. No script of any package is run, as in the images. */
async function installPackages(dir: string, services: readonly string[]): Promise<void> {
  const workspaces = services.map((service) => `--workspace=${service}`);
  const options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["ci", ...options, ...workspaces], { cwd: dir, maxBuffer: 64e6 });
}

/** Everything in `node_modules` is linked but this repository's own packages, which are those of the folder. */
async function linkPackages(dir: string): Promise<void> {
  const modules = join(dir, "node_modules");
  await mkdir(join(modules, SCOPE), { recursive: true });
  for (const name of await readdir(join(ROOT, "node_modules")))
    if (name !== SCOPE && name !== ".cache")
      await symlink(join(ROOT, "node_modules", name), join(modules, name));
  for (const workspace of WORKSPACES) {
    for (const name of await readdir(join(dir, workspace))) {
      const manifest = await readFile(join(dir, workspace, name, "package.json"), "utf8").catch(
        () => undefined,
      );
      if (manifest === undefined) continue;
      const own = (JSON.parse(manifest) as { name: string }).name;
      await symlink(join("../..", workspace, name), join(modules, SCOPE, own.slice(SCOPE.length + 1)));
      const nested = join(workspace, name, "node_modules");
      if (await isThere(join(ROOT, nested))) await symlink(join(ROOT, nested), join(dir, nested));
    }
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
