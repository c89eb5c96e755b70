export { pause } from "./pause.ts";
export { backoffMs, retry, type RetryOptions } from "./retry.ts";
export { Semaphore } from "./semaphore.ts";
