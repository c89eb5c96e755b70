const SIMULATOR = "sim";

/** An engine's name as the GenAI conventions have it. */
export function providerOf(engine: string): string {
  return engine === SIMULATOR ? `reprise.${SIMULATOR}` : engine;
}
