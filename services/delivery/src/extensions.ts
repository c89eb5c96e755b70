/* The extensions of a node, one a line: the node type-checks and serves without one whose folder and line are deleted. They are opened in the order of their names. */
export { blobs } from "./extensions/blobs/blobs.ts";
export { conversations } from "./extensions/conversations/conversations.ts";
export { streams } from "./extensions/streams/streams.ts";
