/**
 * Size of this package in an app that imports all of it, in addition to `@reprise/client`: bundled and minified, and its size over the network. `ai` and
 * `@ai-sdk/provider` are not counted: the app has the first itself, and the second has only types.
 */
export const MAX_BYTES = 18 * 1_024;
export const MAX_GZIP_BYTES = 7 * 1_024;

/** Imported packages that are not measured. */
export const IMPORTED = ["@reprise/client"];

/** The program that is measured, of the module at a path. */
export function wholeApp(module: string): string {
  return `export { createReprise, RepriseError, toUIMessageStreamResponse } from ${JSON.stringify(module)};`;
}
