import * as fc from "fast-check";
import { createGenerationId, type GenerationRef, MAX_SHARDS, parseTenantId, type TenantId } from "./id.ts";

/* Inputs for the property tests of this package. */

const TOKEN_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".split("");

export const anyToken = fc.string({ unit: fc.constantFrom(...TOKEN_CHARS), minLength: 1, maxLength: 64 });
export const anyTenant: fc.Arbitrary<TenantId> = anyToken.map(parseTenantId);
export const anyShards = fc.integer({ min: 1, max: MAX_SHARDS });
export const randomBytes = fc.uint8Array({ minLength: 17, maxLength: 32 });

export const anyRef: fc.Arbitrary<GenerationRef> = fc
  .tuple(anyTenant, randomBytes, anyShards)
  .map(([tenant, random, shards]) => ({ tenant, generation: createGenerationId(random, shards) }));

/** Any well-formed text that is short enough for a model's name. */
export const anyModelName = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 5 }),
  fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 21 }),
  fc.constantFrom(
    "sim",
    "meta-llama/Llama-3.1-8B-Instruct",
    "a.b",
    "*",
    ">",
    " ",
    "_",
    "__",
    "_2e",
    "\ufeffx",
    "🙂",
  ),
);
