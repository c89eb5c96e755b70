// `npm run check`: everything that can be said of the code without running it.
import { runPart, PARTS } from "./parts.ts";

const results = PARTS.map(async (part) => {
  const { passed, seconds, output } = await runPart(part);
  console.log(`${passed ? "ok    " : "FAILED"} ${part.name.padEnd(10)} ${seconds.toFixed(1)} s`);
  return { part, passed, output };
});

const failed = (await Promise.all(results)).filter(({ passed }) => !passed);
for (const { part, output } of failed) console.log(`\n${part.name}:\n${output.trimEnd()}`);
if (failed.length > 0) process.exitCode = 1;
