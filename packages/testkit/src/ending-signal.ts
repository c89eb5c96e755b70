const ENDING: readonly NodeJS.Signals[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGQUIT", "SIGABRT"];

/** Whether a server that gets this signal ends, so that its end can be waited for. */
export function isEndingSignal(signal: NodeJS.Signals): boolean {
  return ENDING.includes(signal);
}
