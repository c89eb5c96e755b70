export { type GenerationInput, inputOf, type InputState } from "./input-of.ts";
