import { runDemo } from "./run-demo.ts";

/*
 * `npm run demo`: the main job, seen from outside. A platform on free ports, one prompt streamed to the terminal, the network cut in
 * the middle of it, the stream resumed; a second generation cancelled. Exit code 0 only if all of it is true.
 */
process.exitCode = (await runDemo(process.env, process.stdout)) ? 0 : 1;
