import {
  encodeCursor,
  type Generation,
  parseGenerationRequest,
  RepriseError,
  START,
  Transcript,
} from "@reprise/protocol";
import { type Created, createGeneration, type CreateOptions } from "./create-generation.ts";
import { toGeneration } from "./to-generation.ts";

export interface CreateFromBody extends Omit<CreateOptions, "request" | "now"> {
  /** The public names of the models that can be asked for. */
  readonly models: ReadonlySet<string>;
}

export interface CreatedFromBody extends Pick<Created, "joined" | "first"> {
  /** As it is right after its creation. */
  readonly generation: Generation;
}

/**
 * Creates a generation, or joins one, with a request as its client sent it.
 * @throws RepriseError `invalid_request`, `model_not_found`, and what `createGeneration` throws
 */
export async function createFromBody(
  { models, ...options }: CreateFromBody,
  body: unknown,
): Promise<CreatedFromBody> {
  const request = parseGenerationRequest(body);
  if (!models.has(request.model)) {
    throw new RepriseError("model_not_found", `There is no model "${request.model}" here.`, {
      param: "model",
    });
  }
  const { requested, joined, first } = await createGeneration({ ...options, request, now: new Date() });
  const generation = toGeneration(options.ref.generation, requested, new Transcript());
  return { joined, first, generation: { ...generation, cursor: encodeCursor(START) } };
}
