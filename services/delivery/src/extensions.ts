/* The extensions of a node, one a line: each can be deleted with its folder and its line. They are opened in the order of their names. */
export { blobs } from "./extensions/blobs/blobs.ts";
export { conversations } from "./extensions/conversations/conversations.ts";
