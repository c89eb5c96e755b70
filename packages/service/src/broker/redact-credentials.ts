/** `user:password@` and `token@` in URLs, wherever they stand in a text. A password may hold any sign but `/`, blanks and quotes. */
const IN_URL = /:\/\/[^\s/"'\\]*@/g;

/** The text without the credentials of the URLs in it. */
export function redactCredentials(text: string): string {
  return text.includes("://") ? text.replaceAll(IN_URL, "://[redacted]@") : text;
}
