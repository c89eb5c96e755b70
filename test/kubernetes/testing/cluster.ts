import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { bundleProgram, createTempDir } from "@reprise/testkit";
import type { Store } from "./environment.ts";
import { FOLDER } from "./overlay.ts";

/** What the commands of the README have put into a cluster that there is not. */
export interface Cluster extends AsyncDisposable {
  /** The folder in which commands run. */
  readonly dir: string;
  /** Runs a block of the README, behind those before. @returns what it printed */
  run(commands: string): Promise<string>;
  /** Has `kubectl logs` print a file. */
  log(workload: string, file: string): Promise<void>;
  configMaps(): Promise<Store>;
  secrets(): Promise<Store>;
}

const README = join(FOLDER, "README.md");

/** The one block of shell commands of the README that contains a text. */
export async function readmeBlock(containing: string): Promise<string> {
  const blocks = [...(await readFile(README, "utf8")).matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .map(([, code]) => code!)
    .filter((code) => code.includes(containing));
  const [block, ...others] = blocks;
  if (block === undefined || others.length > 0) throw new Error(`No one block contains ${containing}.`);
  return block;
}

/** As much of kubectl as the README uses to put things in: what is "applied" lies in a folder, a file for each key. */
const KUBECTL = `
verb=$1
shift
case "$verb $*" in
  "create secret generic "*) folder=secrets/$3; shift 3 ;;
  "create configmap "*) folder=configmaps/$2; shift 2 ;;
  "apply -f -") exec sh ;;
  "-n reprise logs statefulset/"*) exec cat "$CLUSTER/\${3#statefulset/}.log" ;;
  "apply "* | "-n "*) exit 0 ;;
  *) echo "kubectl $verb $*" >&2; exit 1 ;;
esac
draft=$(mktemp -d "$CLUSTER/draft-XXXXXX")
for arg; do
  value=\${arg#--from-*=}
  case "$arg" in
    --from-literal=*) printf %s "\${value#*=}" >"$draft/\${value%%=*}" ;;
    --from-file=*=*) cp "\${value#*=}" "$draft/\${value%%=*}" ;;
    --from-file=*) find "$value" -maxdepth 1 -type f -exec cp {} "$draft" ";" ;;
    --dry-run=client) echo "rm -rf '$CLUSTER/$folder' && mkdir -p '$CLUSTER/$folder' && mv '$draft'/* '$CLUSTER/$folder'" ;;
  esac
done
`;

/**
 * A folder in which the README's commands run: npm commands are those of the repository, `kubectl` is a stand-in.
 * @param rewrite what commands are to say otherwise: names of a cluster that do not resolve here
 */
export async function openCluster(rewrite: (commands: string) => string): Promise<Cluster> {
  await using stack = new AsyncDisposableStack();
  const temp = stack.use(await createTempDir("kubernetes"));
  const bin = join(temp.path, "bin");
  const store = join(temp.path, "cluster");
  await mkdir(bin);
  await mkdir(store);
  const script = async (name: string, line: string) => {
    await writeFile(join(bin, name), `#!/bin/sh\n${line}\n`);
    await chmod(join(bin, name), 0o755);
  };
  const node = `exec ${process.execPath} --enable-source-maps`;
  await script("kubectl", KUBECTL);
  // `npm run nats -- …`, without npm's set-up.
  const infra = dirname(dirname(await bundleProgram("infra/nats/main.ts")));
  await script("npm", `name=$2; shift 3; ${node} ${infra}/$name/main.mjs "$@"`);
  await script("npx", `shift; ${node} ${await bundleProgram("services/delivery/src/cli/main.ts")} "$@"`);

  const authority = join(temp.path, "secrets/ca.crt");
  const env = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    CLUSTER: store,
    // For what a production's certificate is signed by, had it one that all know.
    NODE_EXTRA_CA_CERTS: authority,
    CURL_CA_BUNDLE: authority,
  };
  const textsIn = async (dir: string) => {
    const entries = (await readdir(dir)).map(async (name) => [name, await readFile(join(dir, name), "utf8")]);
    return Object.fromEntries(await Promise.all(entries)) as Record<string, string>;
  };
  const read = async (kind: string): Promise<Store> => {
    const names = await readdir(join(store, kind)).catch(() => []);
    const entries = names.map(async (name) => [name, await textsIn(join(store, kind, name))]);
    return Object.fromEntries(await Promise.all(entries)) as Store;
  };
  let before = "";
  const owned = stack.move();
  return {
    dir: temp.path,
    async run(commands) {
      const functions = before;
      before += (commands.match(/^\w+\(\) \{[\s\S]*?\}$/gm) ?? []).join("\n") + "\n";
      const shell = ["-euo", "pipefail", "-c", `${functions}\n${rewrite(commands)}`];
      const { stdout } = await promisify(execFile)("bash", shell, { cwd: temp.path, env });
      return stdout;
    },
    log: (workload, file) => symlink(file, join(store, `${workload}.log`)),
    configMaps: () => read("configmaps"),
    secrets: () => read("secrets"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
