export { type GenerationInput, inputOf, type InputState } from "./input-of.ts";
export { interrupt } from "./interrupt.ts";
