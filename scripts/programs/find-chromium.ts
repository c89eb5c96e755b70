import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Ubuntu's `chromium-browser` may be a script that only says which snap to install. */
const NAMES = ["chromium", "google-chrome-stable", "google-chrome", "chromium-browser"];

const OFF_PATH = [
  "/usr/bin/chromium",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** A Chromium or Chrome that is installed here: on PATH, or where macOS keeps it. */
export function findChromium(path = process.env["PATH"], offPath = OFF_PATH): string | undefined {
  const folders = (path ?? "").split(delimiter).filter((folder) => folder !== "");
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...onPath, ...offPath].find((file) => existsSync(file));
}
