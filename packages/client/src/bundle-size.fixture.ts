/**
 * Size of the SDK in an app that streams: `import { createClient, RepriseError }`, bundled and minified, and its size over the network. Any bundler leaves
 * out `isKnownEvent` and the list of the types that this version knows: with it the sizes grow by 0.6 and 0.15 KiB.
 */
export const MAX_BYTES = 21.5 * 1_024;
export const MAX_GZIP_BYTES = 8 * 1_024;

/** Sizes of the additional modules, minified. */
export const DOOR_BYTES = {
  blobs: 1_280,
  conversations: 1_024,
  input: 1_280,
  models: 256,
  produce: 4_096,
  socket: 4_608,
  tanstack: 2_560,
};

/** The program that is measured, of the module at a path. */
export function streamingApp(module: string): string {
  return `export { createClient, RepriseError } from ${JSON.stringify(module)};`;
}
