/** Returns the text whose keyed hash finds a metadata pair. */
export function metadataTag(key: string, value: string): string {
  return `metadata:${key}=${value}`;
}

/** Returns the text whose keyed hash finds a person or a conversation. */
export function subjectTag(subject: string): string {
  return `subject:${subject}`;
}
