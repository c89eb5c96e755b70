// Creates objects in a folder as soon as its input ends: node object-creator.ts <folder> <objects> <first> <text>. It begins with one of
// them and goes round; prints which it got.
import { createFileStore } from "../store/file-store.ts";

const [dir = "", objects = "0", first = "0", text = ""] = process.argv.slice(2);
const store = createFileStore(dir);
process.stdout.write("ready\n");
await process.stdin.toArray();
const mine: number[] = [];
for (let i = 0; i < Number(objects); i++) {
  const n = (Number(first) + i) % Number(objects);
  if ((await store.create(`log/${n}`, Buffer.from(text))) === "created") mine.push(n);
}
process.stdout.write(`${JSON.stringify(mine)}\n`);
