import * as z from "zod";
import { type GenerationRequest, parseWith } from "../request/request.ts";

/**
 * Makes a parser of a request's options by an engine's schema, defaults filled in. Make it once: zod compiles a schema when it first parses. The parser throws
 * RepriseError `invalid_request` with the path, which begins with `options`, in `param`.
 */
export function createOptionsParser<T>(schema: z.ZodType<T>): (options: GenerationRequest["options"]) => T {
  const wrapped = z.object({ options: schema });
  return (options) => parseWith(wrapped, { options: options ?? {} }).options;
}
