/**
 * What an app that streams loads of the SDK: `import { createClient, RepriseError }`, bundled and minified, and what of it crosses the network.
 * `isKnownEvent`, with the list of the types that this version knows, is left out of it by any bundler: with it there are 0.6 and 0.15 KiB more.
 */
export const MAX_BYTES = 21.5 * 1_024;
export const MAX_GZIP_BYTES = 8 * 1_024;

/** Of the modules beside it, minified. */
export const DOOR_BYTES = { blobs: 1_280, conversations: 1_024, models: 256, tanstack: 2_560 };

/** The program that is measured, of the module at a path. */
export function streamingApp(module: string): string {
  return `export { createClient, RepriseError } from ${JSON.stringify(module)};`;
}
