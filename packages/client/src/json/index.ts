export type { DeepPartial } from "./deep-partial.ts";
export { NoObjectError } from "./no-object-error.ts";
export { objectOf } from "./object-of.ts";
export { type PartialValue, partialsOf } from "./partials-of.ts";
