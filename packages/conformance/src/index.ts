export { REQUIREMENTS, type Requirement } from "./requirements.ts";
export { type Outcome, type Result, runSuite, type SuiteOptions } from "./run-suite.ts";
export type { TargetOptions } from "./target.ts";
