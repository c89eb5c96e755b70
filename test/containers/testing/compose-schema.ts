import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { installSchemas } from "../../../scripts/schemas/install-schemas.ts";

interface Validation {
  (value: unknown): boolean;
  readonly errors?: readonly {
    readonly instancePath: string;
    readonly message: string;
    readonly params: object;
  }[];
}

interface Ajv {
  compile(schema: unknown): Validation;
}

/** Checks a project against the Compose Specification's JSON schema, as the package dclint has it. @returns what is wrong */
export async function composeErrors(project: unknown): Promise<string[]> {
  const packages = await installSchemas();
  const { $schema, ...schema } = JSON.parse(
    await readFile(join(packages, "dclint/schemas/compose.schema.json"), "utf8"),
  ) as Record<string, unknown>;
  if (typeof $schema !== "string") throw new Error("dclint's schema of Compose has no $schema");
  const { Ajv } = createRequire(join(packages, "package.json"))("ajv") as {
    Ajv: new (options: object) => Ajv;
  };
  const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  if (validate(project)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
