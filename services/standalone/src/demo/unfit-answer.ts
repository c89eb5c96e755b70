interface Answer {
  readonly status: string;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** How many events its reader has seen. */
  readonly events: number;
}

/**
 * Why nothing can be shown with a model's answer: it is none, or over before the network is cut. That is no fault of the platform,
 * and no figure can be measured then. Undefined where the answer will do.
 */
export function unfitAnswer(
  { status, error, events }: Answer,
  { cutAfterEvents }: { readonly cutAfterEvents: number },
): string | undefined {
  if (status !== "completed") {
    const reason = error === undefined ? "" : ` (${error.code}: ${error.message})`;
    return `The model's generation ended as ${status}${reason}, so there is no answer to cut.`;
  }
  if (events > cutAfterEvents) return undefined;
  return `The model's answer has ${events} events, and the network is cut after ${cutAfterEvents}: use a model that says more.`;
}
