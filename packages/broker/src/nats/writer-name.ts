import { randomBytes } from "node:crypto";

/**
 * A name that no other appender has, anywhere and ever. 96 random bits in 16 characters: it travels with every event, is stored
 * with it and sent to every follower.
 */
export function createWriterName(): string {
  return randomBytes(12).toString("base64url");
}
