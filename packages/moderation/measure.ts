/**
 * Measures the built-in sets on the corpus: the tables of the README, and each text that is missed or mistaken. Run by
 * `node packages/moderation/measure.ts`.
 */
import { measure } from "./src/rules/testing/measure.fixture.ts";
import { reportTables } from "./src/rules/testing/report.fixture.ts";

const measured = measure();
for (const table of reportTables(measured)) print(`${table}\n`);
for (const { kind, manner, text } of measured.missed)
  print(`missed ${kind.name} (${manner}): ${JSON.stringify(text)}`);
for (const { sort, text, findings } of measured.mistaken)
  print(
    `mistaken ${sort}: ${findings.map(({ rule, text: found }) => `${rule} ${found}`).join(", ")} in ${JSON.stringify(text)}`,
  );

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
