export { recordSpans } from "./recorded-spans.ts";
