import { parseWith } from "@reprise/protocol";
import * as z from "zod";
import type { EngineRequest } from "./engine.ts";

/**
 * A request's options by an engine's schema, defaults filled in.
 * @throws RepriseError `invalid_request` with the path, which begins with `options`, in `param`
 */
export function parseOptions<T>(schema: z.ZodType<T>, options: EngineRequest["options"]): T {
  return parseWith(z.object({ options: schema }), { options: options ?? {} }).options;
}
