// A process that needs keys: node key-maker.ts <folder of the keys> <subjects>. Prints each key with its id, and then runs until it is killed.
import { createFileStore } from "../store/file-store.ts";
import { openKeyring } from "../keys/open-keyring.ts";

const [dir = "", subjects = "0"] = process.argv.slice(2);
process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume();

const keyring = await openKeyring({ store: createFileStore(dir), masterKey: Buffer.alloc(32, 7) });
for (let i = 0; i < Number(subjects); i++) tell(await keyring.keyFor(owner(i, `subject ${i}`)));
for (let i = 0; ; i++) {
  const keys = await Promise.all([keyring.keyFor(owner(2 * i)), keyring.keyFor(owner(2 * i + 1))]);
  await keyring.flush();
  for (const key of keys) tell(key);
}

function owner(i: number, subject?: string) {
  return { tenant: "acme", generation: `gen_${process.pid}_${i}`, subject };
}

function tell({ kid, key }: { kid: string; key: Uint8Array }): void {
  process.stdout.write(`${kid} ${Buffer.from(key).toString("hex")}\n`);
}
