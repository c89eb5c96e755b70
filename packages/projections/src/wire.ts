/* The door for packages that are published: the projections that they tell streams by, free of zod. */
export { createUiStream } from "./ai-sdk/project.ts";
export { isUntold } from "./is-untold.ts";
export { toSourceChunk } from "./ai-sdk/part-chunks.ts";
