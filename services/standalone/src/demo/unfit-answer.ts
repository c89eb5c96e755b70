interface Answer {
  readonly status: string;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** Number of events that its reader has seen. */
  readonly events: number;
}

interface Expected {
  readonly cutAfterEvents: number;
  /** Where the model server is; undefined for the simulator. */
  readonly server?: string | undefined;
  /** The engine's own failure. */
  readonly failure?: Error | undefined;
}

/**
 * Why nothing can be shown with a model's answer: it is none, or over before the network is cut. That is no fault of the platform,
 * and no figure can be measured then. Undefined where the answer will do.
 */
export function unfitAnswer(
  { status, error, events }: Answer,
  { cutAfterEvents, server, failure }: Expected,
): string | undefined {
  if (status !== "completed") {
    const reason = error === undefined ? "" : ` (${error.code}: ${error.message})`;
    const where = server === undefined ? "" : ` The model server is ${server} (OPENAI_BASE_URL).`;
    const last =
      failure === undefined || failure.message === error?.message
        ? ""
        : ` Its last error: ${failure.message}`;
    return `The model's generation ended as ${status}${reason}, so there is no answer to cut.${where}${last}`;
  }
  if (events > cutAfterEvents) return undefined;
  return `The model's answer has ${events} events, and the network is cut after ${cutAfterEvents}: use a model that says more.`;
}
