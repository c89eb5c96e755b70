/**
 * What an app loads of this package beside `@reprise/client` if it imports all of it: bundled and minified, and what of it crosses the network.
 * `ai` and `@ai-sdk/provider` are not among it: the one is the app's own, of the other there are types alone.
 */
export const MAX_BYTES = 18 * 1_024;
export const MAX_GZIP_BYTES = 7 * 1_024;

/** What it imports, and is not measured. */
export const IMPORTED = ["@reprise/client"];

/** The program that is measured, of the module at a path. */
export function wholeApp(module: string): string {
  return `export { createReprise, RepriseError, toUIMessageStreamResponse } from ${JSON.stringify(module)};`;
}
