export { type DeepPartial, type PartialValue, partialsOf } from "./partials-of.ts";
export { NoObjectError, objectOf } from "./object-of.ts";
