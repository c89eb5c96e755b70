// `npm run fix`: formats, and corrects what the linter can; says what is left to do by hand.
import { runPart, FIXES } from "./parts.ts";

for (const fix of FIXES) {
  const { passed, output } = await runPart(fix);
  if (passed) continue;
  console.log(output.trimEnd());
  process.exitCode = 1;
}
