import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseModelsFile } from "@reprise/inference-worker-service";
import { loadClassifiers } from "@reprise/moderation-service";
import { ENVIRONMENT_TABLE, METRICS } from "@reprise/runtime";
import { parseTenantsFile } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createProgram } from "../../services/audit-log/src/cli/commands.ts";
import { readDocument } from "../e2e/testing/document.ts";

const CONFIGURATION = readDocument("docs/configuration.md");

/** A table's cell without its backticks. */
const uncode = (cell = "") => cell.replaceAll("`", "");

test("docs/configuration.md has a models, a tenants and a classifiers file that are valid", async () => {
  const models = parseModelsFile(CONFIGURATION.block("json", '"models"'), {
    source: "models.json",
    env: { VLLM_API_KEY: "secret" },
  });
  expect(models.get("llama")).toMatchObject({
    engine: "openai",
    openai: { baseUrl: "http://127.0.0.1:8000/v1", apiKey: "secret" },
  });
  // The README's commands ask for it.
  expect(models.has("sim")).toBe(true);

  const tenants = CONFIGURATION.block("json", '"tenants"');
  const hashed = tenants.replace("<hex of the secret's SHA-256>", "0".repeat(64));
  expect(parseTenantsFile(hashed, "tenants.json").tenants).toMatchObject([
    { id: "acme", policy: { max_attempts: 2, on_worker_loss: "continue" } },
  ]);

  await using dir = await createTempDir("documents");
  const path = join(dir.path, "classifiers.json");
  await writeFile(path, CONFIGURATION.block("json", '"classifiers"'));
  const env = { REPRISE_CLASSIFIERS_FILE: path };
  const classifiers = await loadClassifiers(env, { OPENAI_API_KEY: "secret" });
  expect([...classifiers.keys()]).toEqual(["omni", "guard"]);
});

test("docs/configuration.md lists every environment variable with its default and meaning, and no other", () => {
  const rows = CONFIGURATION.table("| name | default | meaning |").map(([name, fallback, meaning]) => ({
    name: uncode(name),
    default: uncode(fallback) || undefined,
    meaning,
  }));
  expect(rows).toEqual(ENVIRONMENT_TABLE);
});

test("docs/operations.md lists every metric with its type, labels and meaning, and no other", () => {
  const known = Object.entries(METRICS).map(([name, { kind, help, ...rest }]) => {
    const labels = "labels" in rest ? rest.labels.map((label) => `\`${label}\``).join(", ") : "";
    return [`\`${name}\``, kind, labels, help];
  });
  const documented = readDocument("docs/operations.md").table("| metric | type | labels | meaning |");
  expect(documented).toEqual(known);
});

test("docs/audit.md lists every command, and no other", () => {
  const table = readDocument("docs/audit.md").table("| command | does |");
  const listed = table.flatMap(([names]) => names!.split(", ").map(uncode));
  const { stdout: out, stderr: err } = process;
  const { commands } = createProgram({ out, err, env: {}, exitCode: 0 });
  expect(listed.toSorted()).toEqual(commands.map((command) => command.name()).toSorted());
});
