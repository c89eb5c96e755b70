// In the Dockerfile: `node --conditions=source infra/containers/build.ts <folder>` writes what each image holds, in a folder of its name.
import { join, resolve } from "node:path";
import { bundleImage } from "./bundle-image.ts";
import { IMAGES } from "./images.ts";

const root = resolve(import.meta.dirname, "../..");
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error("Name the folder to write into.");
for (const image of IMAGES) {
  await bundleImage(image, root, join(resolve(target), image.name));
  process.stdout.write(`${image.name}\n`);
}
