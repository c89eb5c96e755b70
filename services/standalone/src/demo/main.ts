import { inspect } from "node:util";
import { RepriseError } from "@reprise/protocol";
import { runDemo } from "./run-demo.ts";
import { showDuplex } from "./show-duplex.ts";

/*
 * `npm run demo`: the main job, seen from outside. A platform on free ports, one prompt streamed to the terminal, the network cut in
 * the middle of it, the stream resumed; a second generation cancelled; a third one of which text is withdrawn while it is read. Exit
 * code 0 only if all of it is true. With `--duplex`: a generation whose input streams too, both connections cut.
 */
try {
  const show = process.argv.includes("--duplex") ? showDuplex : runDemo;
  process.exitCode = (await show(process.env, process.stdout)) ? 0 : 1;
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof RepriseError ? error.message : inspect(error)}\n`);
}
