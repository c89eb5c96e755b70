/** True if a field has a value: absent and null are the same. */
export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

/** The fields of an object that say something. */
export function givenOf(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
}
