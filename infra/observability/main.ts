// `npm run observability`: writes the rules that Prometheus reads. See README.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ruleTexts } from "./rule-texts.ts";

const dir = join(import.meta.dirname, "generated");
mkdirSync(dir, { recursive: true });
for (const [name, text] of Object.entries(ruleTexts())) writeFileSync(join(dir, name), text);
